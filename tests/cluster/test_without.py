"""Without a cluster nothing of it is imported, started or needed."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests.support.command import ROOT, clean_environment

ROOM = ("bus", "nodes", "node", "desk", "roster", "task_queue", "certificates", "key_folder")
FORBIDDEN = ("nats", "cryptography", *(f"tools.cluster.{name}" for name in ROOM))
MAIN = """
import sys
def refuse(event, arguments):  # whoever only looks whether it is installed imports nothing
    if event == "import" and arguments[0] in {forbidden!r}:
        raise ImportError(f"{{arguments[0]}} is imported, and there is no cluster")
sys.addaudithook(refuse)
sys.path.insert(0, {root!r})
sys.argv = ["main.py", *{words!r}]
from main import main
code = main(sys.argv[1:])
sys.exit(code)
"""


def test_a_harvest_of_one_machine_loads_nothing_of_it(tmp_path: Path) -> None:
    words = ("--sample", "-q", "--limit", "2", "--state", "s", "--media", "m")
    program = MAIN.format(forbidden=FORBIDDEN, root=str(ROOT), words=words)
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=tmp_path,
        env=clean_environment(),
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
