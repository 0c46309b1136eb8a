"""What several tests of worker processes begin with."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from threading import Event

import pytest

from tests.cluster.test_executor import away
from tests.engine.executor_contract import STAGE, Scene
from tools.cluster.executor import ProcessExecutor


@pytest.fixture
def scene(tmp_path: Path) -> Iterator[Scene]:
    scene = Scene(ProcessExecutor([STAGE], {}, away(), Event()), tmp_path)
    try:
        yield scene
    finally:
        scene.open_gate()
        scene.executor.close(10.0)
