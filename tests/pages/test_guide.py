"""docs/pages.md, typed as it stands there, on the built-in site."""

from __future__ import annotations

import re
import shlex
import subprocess
from dataclasses import fields
from pathlib import Path

import pytest

from tests.support.command import ROOT, run
from tools.commands.parsing import parsed
from tools.pages.page import Page
from tools.pages.settings import PagesSettings

GUIDE = (ROOT / "docs/pages.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```\n(.*?)^```$", GUIDE, re.DOTALL | re.MULTILINE)
COMMANDS = [
    shlex.split(line, comments=True)[1:]
    for block in BLOCKS
    for line in block.splitlines()
    if line.startswith("python ")
]
NEEDS_OTHERS = ("seeds.txt", "https://example.org", "--watch", "pause", "resume", "stop", "24h")
"""Sites of the web, or a harvest that runs: only whether they are understood is tried."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("guide")


def test_every_command_does_what_it_says(folder: Path) -> None:
    """One after the other, as a reader types them."""
    ran = 0
    for script, *words in COMMANDS:
        if not any(word in NEEDS_OTHERS for word in words) and words != ["pages", "--depth", "4"]:
            done = run(script, *words, cwd=folder)
            assert done.returncode == 0, (words, done.stderr)
            ran += 1
    assert ran >= 15
    assert (folder / "site/garden.example/plants/rose.html").exists()
    assert (folder / "replay/pages.wacz").exists() and (folder / "workers.png").exists()


@pytest.mark.parametrize("words", [words for script, *words in COMMANDS if script == "main.py"])
def test_every_command_line_is_understood(words: list[str]) -> None:
    parsed(words)


def test_every_setting_and_column_of_the_guide_exists() -> None:
    names = {each.name for each in fields(PagesSettings)}
    for variable in re.findall(r"`SHEAF_PAGES_([A-Z_]+)`", GUIDE):
        assert not variable or variable.lower() in names, variable
    table = GUIDE.partition("| column |")[2].partition("\n\n")[0]
    told = {name for row in re.findall(r"^\| ([^|]+) \|", table, re.M) for name in
            re.findall(r"`(\w+)`", row)}  # fmt: skip
    assert told == {"id", *Page._fields}


def test_every_link_leads_somewhere() -> None:
    for target in re.findall(r"\]\(([^)#:]+)\)", GUIDE):
        assert (ROOT / "docs" / target).exists(), target


def test_make_knows_the_job() -> None:
    done = subprocess.run(
        ["make", "-n", "run", "JOB=pages"], cwd=ROOT, capture_output=True, text=True, timeout=30
    )
    assert "main.py pages --sample" in done.stdout, done.stdout + done.stderr
