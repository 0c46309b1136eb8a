"""Without a cluster nothing of it is imported, started or needed."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests.support.command import ROOT, clean_environment

FORBIDDEN = ("nats", "cryptography", "nkeys", "tools.cluster.bus", "tools.cluster.nodes")
MAIN = """
import sys
class Nobody:
    def find_spec(self, name, path=None, target=None):
        if any(name == each or name.startswith(each + ".") for each in {forbidden!r}):
            raise ImportError(f"{{name}} was asked for, and there is no cluster")
sys.meta_path.insert(0, Nobody())
sys.path.insert(0, {root!r})
sys.argv = ["main.py", *{words!r}]
from main import main
code = main(sys.argv[1:])
cluster = sorted(name for name in sys.modules if name.startswith(("nats", "tools.cluster.")))
print("LOADED", *cluster)
sys.exit(code)
"""


def test_a_harvest_of_one_machine_loads_nothing_of_it(tmp_path: Path) -> None:
    words = ("--sample", "-q", "--state", "s", "--media", "m", "--processes", "0")
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
    loaded = done.stdout.partition("LOADED")[2].split()
    assert loaded == [], "not a module of the room either"
