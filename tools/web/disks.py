"""The disks that a harvest needs: that of its state, and those on which its stages write files. Of
these the reserve stays free (see `assist.watchdogs.Reserve`)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from shutil import disk_usage
from typing import NamedTuple

from ..errors import HarvestError
from .site import Site


class Disk(NamedTuple):
    """`folders` are those of the harvest that lie on it; `reserve` is what must stay free."""

    folders: tuple[str, ...]
    free: int
    total: int
    reserve: int


def disks_of(site: Site) -> list[Disk]:
    """Each once, however many folders lie on it."""
    reserve = int(getattr(site.sources.settings, "reserve_bytes", 0))
    found: dict[int, Disk] = {}
    for folder, is_watched in site.remembered("folders", lambda: [*_folders(site)]):
        place = _there(folder)
        device = place.stat().st_dev
        before = found.get(device) or _disk_with(place)
        found[device] = before._replace(
            folders=tuple(dict.fromkeys((*before.folders, str(folder)))),
            reserve=reserve if is_watched else before.reserve,
        )
    return list(found.values())


def _disk_with(place: Path) -> Disk:
    usage = disk_usage(place)
    return Disk((), usage.free, usage.total, 0)


def _folders(site: Site) -> Iterator[tuple[Path, bool]]:
    """And whether the reserve is watched there."""
    yield site.state, False
    try:
        stages = site.job.stages(site.sources.settings)
    except HarvestError:  # of a job that is not known here
        return
    for each in stages:
        if each.folder is not None:
            yield each.folder, True


def _there(folder: Path) -> Path:
    """It, or where it will be made."""
    return next(each for each in (folder, *folder.absolute().parents) if each.exists())
