"""Parts of files whose process was killed are removed; no other file is, and none that arrives."""

from __future__ import annotations

import os
import time
from pathlib import Path
from threading import Event

from tools.media.leftovers import Leftovers


def put(path: Path, age_s: float) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"x")
    os.utime(path, (time.time() - age_s,) * 2)
    return path


def test_only_what_is_left_of_arriving_files_goes(tmp_path: Path) -> None:
    left = put(tmp_path / "en" / "bark" / "audio" / "0.part", 1.0)
    stay = [
        put(tmp_path / "en" / "dog" / "audio" / "0.part", -60.0),  # it arrives now
        put(tmp_path / "en" / "dog" / "image" / "0.jpg", 9.0),
        put(tmp_path / "en" / "0.part" / "image" / "1.png", 9.0),
        put(tmp_path / "MEDIA.jsonl.part", 9.0),
        put(tmp_path / "en" / "dog" / "image" / "x0.part", 9.0),
    ]
    Leftovers(tmp_path, Event()).wait()
    assert not left.exists() and all(each.exists() for each in stay)


def test_whoever_stops_waits_for_no_walk(tmp_path: Path) -> None:
    left, stop = put(tmp_path / "a" / "0.part", 1.0), Event()
    stop.set()
    Leftovers(tmp_path, stop).wait()
    assert left.exists()


def test_a_folder_that_is_not_there_has_none(tmp_path: Path) -> None:
    Leftovers(tmp_path / "none", Event()).wait()
