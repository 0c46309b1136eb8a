"""What docs/cluster.md shows can be typed."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.command import ROOT
from tools.cluster.key_folder import add_nodes, make_folder
from tools.commands.parsing import parsed

DOCUMENT = (ROOT / "docs/cluster.md").read_text(encoding="utf-8")


def documented() -> list[str]:
    found = re.findall(r"(?:sheaf|python) main\.py([^`\n#|]*)", DOCUMENT)
    return sorted({each.strip() for each in found})


@pytest.mark.parametrize("command", documented())
def test_every_command_is_understood(command: str) -> None:
    parsed(shlex.split(command.replace("$(printf 'slurm-%d ' $(seq 20))", "slurm-1 slurm-2")))


@pytest.mark.parametrize("command", sorted(set(re.findall(r"scripts/nats ([a-z]+)", DOCUMENT))))
def test_every_command_of_the_script_exists(command: str) -> None:
    words = [sys.executable, str(ROOT / "scripts/nats"), command, "--help"]
    assert subprocess.run(words, capture_output=True, timeout=60).returncode == 0


def test_every_file_of_the_folder_is_explained(tmp_path: Path) -> None:
    make_folder(tmp_path / "cluster", "localhost", 4222)
    add_nodes(tmp_path / "cluster", ["alpha"], tmp_path)
    table = DOCUMENT.partition("| file |")[2].partition("\n\n")[0]
    for file in (tmp_path / "cluster").iterdir():
        assert f"`{file.name}`" in table or file.name == "lock"


@pytest.mark.parametrize("name", sorted(set(re.findall(r"scripts/([\w.-]+)", DOCUMENT))))
def test_every_file_it_names_is_there(name: str) -> None:
    assert (ROOT / "scripts" / name).is_file()


@pytest.mark.parametrize("name", re.findall(r"`(SHEAF_[A-Z_]+)`", DOCUMENT))
def test_every_variable_of_the_job_is_read_by_it(name: str) -> None:
    text = (ROOT / "scripts/sheaf-node.sbatch").read_text(encoding="utf-8")
    assert f"${{{name}:-" in text
