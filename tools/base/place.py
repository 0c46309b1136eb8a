"""Files and folders that must stay what and where they are while a harvest runs: written elsewhere,
what is finished would be lost to a restart.
"""

from __future__ import annotations

from pathlib import Path

from ..errors import Fatal, StateDamaged


class Place:
    def __init__(self, *paths: Path, name: Path, kind: type[Fatal] = StateDamaged) -> None:
        self._paths = paths
        self._name = name
        self._kind = kind
        self._was = [_identity(path) for path in paths]

    def __call__(self) -> None:
        if [_identity(path) for path in self._paths] != self._was:
            raise gone(self._name, self._kind)


def gone(name: Path, kind: type[Fatal] = StateDamaged) -> Fatal:
    return kind(
        f"{name} was moved or removed while the harvest ran: bring it back, then start again"
    )


def _identity(path: Path) -> tuple[int, int] | None:
    try:
        facts = path.stat()
    except OSError:
        return None
    return facts.st_dev, facts.st_ino
