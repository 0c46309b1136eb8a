"""The built-in seed bank: its papers are what they are said to be, and its parsers read them."""

from __future__ import annotations

import json
import runpy
import subprocess
from difflib import SequenceMatcher
from pathlib import Path
from typing import Any

import pytest

from tests.support.needs import program
from tools.sample.papers import write
from tools.sample.seed_bank import CERTIFICATE, LABEL, PDF, SCAN, STRUCTURES, TRUTH

pytestmark = pytest.mark.timeout(60)


def parsed(script: str, raw: Path) -> Any:
    parser = runpy.run_path(str(STRUCTURES / "parsers" / script))["RawParser"]()
    return parser.parse(raw.read_bytes())


def test_what_lies_there_is_small_and_all_there_is() -> None:
    files = {str(path.relative_to(STRUCTURES)): path for path in STRUCTURES.rglob("*.*")}
    names = "A-001.html A-001.pdf A-002.html A-003.html A-004.html copy-of-A-004.html trials.json"
    assert {name for name in files if "__pycache__" not in name} == {
        *("seeds.toml", "seeds.json", "labels.toml", "labels.json", "scans/label.png"),
        *("parsers/accession.py", "parsers/certificate.py"),
        *(f"raw/{name}" for name in names.split()),
    }
    assert PDF.stat().st_size + SCAN.stat().st_size < 10_000


def test_the_papers_are_what_their_program_draws(tmp_path: Path) -> None:
    write(tmp_path / "a.pdf", tmp_path / "b.png")
    assert (tmp_path / "a.pdf").read_bytes() == PDF.read_bytes()
    assert (tmp_path / "b.png").stat().st_size == pytest.approx(SCAN.stat().st_size, rel=0.5)


def test_the_scan_can_be_read() -> None:
    command = [program("tesseract", "tesseract-ocr"), str(SCAN), "-", "-l", "eng"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=50)
    assert SequenceMatcher(None, done.stdout.split(), LABEL.split()).ratio() > 0.95


def test_the_certificate_can_be_read() -> None:
    (key, number, issued, until) = CERTIFICATE.values()
    said = {"编号": number, "签发": issued, "有效期至": until}
    assert parsed("certificate.py", PDF) == {key: {"证书": said}}
    assert TRUTH["seeds"]["certificate"] == [tuple(CERTIFICATE.values())]


def test_the_pages_can_be_read() -> None:
    found = parsed("accession.py", STRUCTURES / "raw" / "A-001.html")
    assert found["A-001"]["档案"]["采集日期"] == "2013年12月18日"
    assert found["A-001"]["采集人"][1] == {"序号": "2", "姓名": "Nora O'Brien", "单位": "Kew"}
    for number in range(2, 5):
        assert parsed("accession.py", STRUCTURES / "raw" / f"A-00{number}.html")


def test_one_page_is_a_copy_of_another_and_the_trials_are_json() -> None:
    copy, page = (STRUCTURES / "raw" / f"{name}A-004.html" for name in ("copy-of-", ""))
    assert copy.read_bytes() == page.read_bytes()
    trials = json.loads((STRUCTURES / "raw" / "trials.json").read_bytes())
    assert sum(len(each["试验"]) for each in trials.values()) == len(TRUTH["seeds"]["trial"])


def test_everything_of_it_is_installed() -> None:
    """What package-data names: one folder deep, and no deeper."""
    deep = {len(path.relative_to(STRUCTURES).parts) for path in STRUCTURES.rglob("*.*")
            if "__pycache__" not in path.parts}  # fmt: skip
    assert deep == {1, 2}
