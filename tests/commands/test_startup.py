"""Commands that ask nobody start at once: they load nothing that only a harvest needs."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.command import ROOT, clean_environment
from tests.support.state_file import make
from tools.commands.verbs import VERBS
from tools.journal.snapshots import LOCK

HEAVY = {
    *("requests", "urllib3", "neo4j", "numpy", "PIL", "paramiko", "matplotlib", "apscheduler"),
    *("apprise", "pyarrow", "soundfile", "tqdm", "pyrate_limiter", "nats", "cryptography"),
}
PROGRAM = (
    "import runpy, sys\n"
    "sys.argv = sys.argv[1:]\n"
    "try: runpy.run_path(sys.argv[0], run_name='__main__')\n"
    "except SystemExit: pass\n"
    "print('LOADED', *sorted({name.partition('.')[0] for name in sys.modules}))\n"
)


def loaded(folder: Path, script: str, *words: str) -> tuple[set[str], str]:
    """The packages in memory when the command has ended, and what it said."""
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(ROOT / script), *words],
        cwd=folder, capture_output=True, text=True, timeout=60,
        env=clean_environment(PYTHONPATH=str(ROOT)),
    )  # fmt: skip
    said, _, names = done.stdout.rpartition("LOADED ")
    assert names, done.stderr
    return set(names.split()), said + done.stderr


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("startup")
    make(folder / "state/pools.db", {"/c/en/dog": "finished"}, [], {}, [])
    (folder / "state" / LOCK).write_text("0")
    return folder


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("main.py jobs", "conceptnet"),
        ("main.py --help", "usage: "),
        ("main.py --version", "sheaf "),
        ("main.py pause", "no harvest runs in state"),
        ("main.py stop", "no harvest runs in state"),
        ("main.py exprot", "did you mean export?"),
        ("main.py layers status", "no folder tasks"),
        ("main.py structure", "no folder"),
        ("main.py structure status x", "no structure"),
        ("main.py pages check", "no crawl in state-pages yet"),
        ("main.py history", "1 of 1 concepts done"),
        ("history.py", "1 of 1 concepts done"),
        ("history.py --json", '"finished":1'),
        ("history.py --check", "pools.db  sound"),
    ],
)
def test_what_asks_nobody_loads_nothing_heavy(folder: Path, line: str, said: str) -> None:
    packages, told = loaded(folder, *line.split())
    assert said in told
    assert not packages & HEAVY


@pytest.mark.parametrize("verb", VERBS)
def test_help_of_a_command_loads_nothing_heavy(folder: Path, verb: str) -> None:
    packages, told = loaded(folder, "main.py", verb, "--help")
    assert told.startswith("usage: ")
    assert not packages & HEAVY
