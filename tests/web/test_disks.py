"""Which disks are shown: those that the harvest watches, by the names of its folders."""

from __future__ import annotations

import os
from collections import namedtuple
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from tools.engine.description import Description
from tools.engine.stage import Stage
from tools.settings import Settings
from tools.web import disks
from tools.web.disks import Disk, disks_of
from tools.web.site import Site, Sources
from tools.web.templates import rendering

Usage = namedtuple("Usage", ("total", "used", "free"))  # as `shutil.disk_usage` has it


class Files(Description):
    def __init__(self, *folders: Path) -> None:
        self.folders = folders

    def stages(self, settings: Any) -> Sequence[Stage]:
        writing = [Stage(f"w{at}", 1, folder=each) for at, each in enumerate(self.folders)]
        return [Stage("reads", 1), *writing]


def site_of(state: Path, job: Description) -> Site:
    (state / "pools.db").touch()
    settings = Settings(state=state, reserve_bytes=1000)
    return Site(Sources(settings, state / "pools.db", lambda _: job))


def test_folders_on_one_disk_are_shown_once(tmp_path: Path) -> None:
    media = tmp_path / "not" / "yet" / "m"
    (one,) = disks_of(site_of(tmp_path, Files(media, media)))
    assert one.folders == (str(tmp_path), str(media))
    assert one.reserve == 1000 and 0 < one.free <= one.total


def test_the_disk_that_is_watched_is_shown_beside_that_of_the_state(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    archive = tmp_path / "archive"
    archive.mkdir()
    devices = {tmp_path: 1, archive: 2}
    monkeypatch.setattr(disks, "disk_usage", lambda place: Usage(100, 0, 10 * devices[place]))
    real = Path.stat

    def stat(path: Path, **more: Any) -> Any:
        status = list(real(path, **more))
        status[2] = devices.get(path, 1)
        return os.stat_result(status)

    monkeypatch.setattr(Path, "stat", stat)
    found = disks_of(site_of(tmp_path, Files(archive)))
    assert found == [
        Disk((str(tmp_path),), 10, 100, 0),
        Disk((str(archive),), 20, 100, 1000),
    ]


def test_a_job_that_nobody_knows_has_the_disk_of_its_state(tmp_path: Path) -> None:
    (one,) = disks_of(site_of(tmp_path, Description()))
    assert (one.folders, one.reserve) == ((str(tmp_path),), 0)


def test_the_page_names_them() -> None:
    text = rendering(None)("parts/disks.html", disks=[Disk(("state", "<m>"), 10, 100, 1000)])
    assert "state" in text and "&lt;m&gt;" in text and "1.0 kB stay free" in text
