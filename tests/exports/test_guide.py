"""docs/exports.md, typed as it stands there, on the sample's graph."""

from __future__ import annotations

import os
import re
import shlex
from pathlib import Path

import pytest

import main
from tests.support.examples import EXPORTS
from tests.support.export_world import sample_graph
from tests.support.pykeen_reader import stand_in
from tools.exports.catalogue import FORMATS

GUIDE = EXPORTS.read_text(encoding="utf-8")
SAYS = {
    "Parquet": r"dog +en/dog/image/0\.png +cc0 +Ada +https://example\.org/page",
    "CSV": r"^\['en/dog/image/0\.png', 'en/dog/image/1\.png'\]$",
    "JSON Lines": r"^\d{4} relations, the first: /c/en/\S+ /c/en/\S+$",
    "KGTK": r"/c/en/age +/c/en/number +1\.0",
    "N-Triples": r"^urn:sheaf:media:en/dog/image/0\.png https://example\.org/cc0$",
    "PyKEEN": r"^\d+ \d+ \d+$",
}


def blocks(title: str, language: str) -> list[str]:
    text = GUIDE.partition(f"# {title}\n")[2].partition("\n## ")[0]
    return re.findall(rf"^```{language}\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where every command of the guide was run."""
    folder = tmp_path_factory.mktemp("guide")
    graph = ("--graph", f"sqlite:{sample_graph(folder / 'graph.db')}", "-q")
    umask, before = os.umask(0o077), Path.cwd()
    os.chdir(folder)
    try:
        for line in blocks("Exports", "")[0].splitlines():
            assert main.main([*shlex.split(line)[2:], *graph]) == 0
    finally:
        os.chdir(before)
        os.umask(umask)
    return folder


@pytest.mark.parametrize("title", SAYS)
def test_the_snippet_of_every_format_reads_it(
    folder: Path, title: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(folder)
    (snippet,) = blocks(title, "python")
    stand_in(monkeypatch)
    exec(snippet, {})
    said = capsys.readouterr().out
    assert re.search(SAYS[title], said, re.MULTILINE), said


def test_every_format_stands_in_the_table_and_has_a_chapter() -> None:
    assert re.findall(r"^\| `([a-z0-9-]+)`", GUIDE, re.MULTILINE) == list(FORMATS)
    assert re.findall(r"^## (.+)$", GUIDE, re.MULTILINE) == list(SAYS)
