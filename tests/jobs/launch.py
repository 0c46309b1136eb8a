"""main.py or history.py with one more entry in the registry: `python launch.py main words ...`."""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from tools.jobs.registry import JOBS, Entry

JOBS["words"] = Entry("tests.jobs.second_job:WORDS", "count the words of a folder of texts")

if __name__ == "__main__":
    sys.exit(import_module(sys.argv.pop(1)).main())
