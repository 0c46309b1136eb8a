"""Ports for servers of tests: nobody else gets one meanwhile."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.support import ports
from tests.support.ports import free_port

ROOT = Path(__file__).parents[2]
OTHER = (
    "from tests.support import ports; import random, sys;"
    "random.sample = lambda among, number: list(among);"
    "ports.PORTS = range(*map(int, sys.argv[1:])); print(ports.free_port())"
)


def test_a_port_that_nobody_listens_at_yet_is_given_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """To this process and to others."""
    first = free_port()
    monkeypatch.setattr(ports, "PORTS", range(first, first + 1))
    monkeypatch.setattr("random.sample", lambda among, number: list(among))
    with pytest.raises(AssertionError):
        free_port()
    words = [sys.executable, "-c", OTHER, str(first), str(first + 101)]
    given = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, timeout=60, check=True)
    assert int(given.stdout) != first
