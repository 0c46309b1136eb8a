"""Lines of the log: above the bars where there are any, and never at somebody's cost."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests.support.command import ROOT, clean_environment

CODE = """
import logging, resource, sys
from pathlib import Path
from tools.base import log

log.set_up(Path(sys.argv[1]), "info", False, False)
resource.setrlimit(resource.RLIMIT_NOFILE, (0, 0))
logging.getLogger("anybody").warning("there are no files left")
"""


def test_who_logs_needs_no_file(tmp_path: Path) -> None:
    """What it would import it could not open, and its thread would end for that."""
    done = subprocess.run(
        [sys.executable, "-c", CODE, str(tmp_path / "log")],
        cwd=ROOT,
        env=clean_environment(),
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr.endswith("WARNING there are no files left\n")
