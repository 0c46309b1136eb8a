"""The files of others are what their table says, and a browser needs no others."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

from tools.web.app import STATIC

VENDOR = STATIC / "vendor"
ROW = re.compile(r"\| (\S+) \| (\S+) \| ([\d.]+) \| (\S+) \| ([0-9a-f]{64}) \|")


def table() -> dict[str, tuple[str, ...]]:
    rows = ROW.findall((VENDOR / "VENDOR.md").read_text("utf-8"))
    return {name: tuple(rest) for name, *rest in rows}


def test_every_file_is_in_the_table_with_its_hash() -> None:
    known = table()
    found = {path.name for path in VENDOR.iterdir()} - {"VENDOR.md"}
    assert found == {*known}
    for name, (_, _, licence, digest) in known.items():
        assert hashlib.sha256((VENDOR / name).read_bytes()).hexdigest() == digest, name
        if "(" in licence:
            assert (VENDOR / licence.partition("(")[2].rstrip(")")).exists(), name


def test_their_versions_are_those_they_name_themselves() -> None:
    known = table()
    assert known["cytoscape.min.js"][1].encode() in (VENDOR / "cytoscape.min.js").read_bytes()
    assert known["htmx.min.js"][1].encode() in (VENDOR / "htmx.min.js").read_bytes()
    first = (VENDOR / "uPlot.iife.min.js").read_text("utf-8")[:200]
    assert known["uPlot.iife.min.js"][1] in first


def test_our_own_files_name_no_other_host() -> None:
    ours = [path for path in STATIC.iterdir() if path.is_file()]
    ours += [*(Path(STATIC).with_name("templates")).rglob("*.html")]
    for path in ours:
        text = path.read_text("utf-8").replace("http://www.w3.org/2000/svg", "")
        assert not re.search(r"https?://", text), path
