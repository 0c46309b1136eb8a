"""What was written comes to the disk beside whoever writes, and a refusal is not forgotten."""

from __future__ import annotations

from pathlib import Path
from threading import Event

import pytest

from tools.archive import flusher as flusher_module
from tools.archive.flusher import Flusher

pytestmark = pytest.mark.timeout(30)


def test_nobody_waits_for_a_slow_disk_but_who_wants_to(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    may_go_on, synced = Event(), list[Path]()

    def slowly(path: Path) -> None:
        assert may_go_on.wait(20)
        synced.append(path)

    monkeypatch.setattr("tools.base.files.sync", slowly)
    monkeypatch.setattr(flusher_module, "EVERY_S", -1.0)
    flusher = Flusher()
    first, second = tmp_path / "first", tmp_path / "second"
    flusher.add(first)
    flusher.begin()  # returns, though the disk does not
    flusher.add(first, second)
    flusher.begin()  # one at a time
    may_go_on.set()
    flusher.finish()
    assert synced[0] == first and sorted(synced[1:]) == [first, second]
    flusher.finish()
    assert len(synced) == 3 and flusher.failure is None


def test_a_refusal_is_remembered(tmp_path: Path) -> None:
    flusher = Flusher()
    flusher.add(tmp_path / "gone")
    flusher.finish()
    flusher.finish()
    assert isinstance(flusher.failure, FileNotFoundError)
