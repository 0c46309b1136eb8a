"""What a start makes, and takes away again if it fails: an unreachable source, a wrong setting.

Promise: only what was not there before and holds nothing yet is removed.
"""

from __future__ import annotations

import sqlite3
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Self

from ..engine.job import Job
from ..errors import HarvestError
from ..graphs import sqlite
from ..graphs.members import SqliteMembers
from ..graphs.open import is_embedded, sqlite_path
from ..journal.schema import files_of
from ..journal.snapshots import BUDGETS
from ..media.ledger import MARK
from ..settings import Settings


class Beginning:
    """`is_over` as soon as there is something to keep."""

    def __init__(self, settings: Settings) -> None:
        self.is_over = False
        self.job: Job | None = None
        state, media, url = settings.state, settings.media, settings.graph_url
        graph = sqlite_path(url) if is_embedded(url) else None
        files = (*files_of(settings.pools_file), state / "log", media / MARK)
        self._files = _missing(files)
        self._empty_files = _missing([state / BUDGETS])
        self._graph = graph if graph and not graph.exists() else None
        self._folders = _missing([media, *media.parents, *(graph.parents if graph else ())])

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, _: type[BaseException] | None, error: BaseException | None, __: TracebackType | None
    ) -> None:
        has_claimed = self.job is not None and self.job.has_claimed
        if error is not None and not self.is_over and not has_claimed:
            with suppress(OSError, sqlite3.Error, HarvestError):  # it has failed for a reason
                self._undo()

    def _undo(self) -> None:
        if self._graph is not None and self._graph.exists():
            _remove_graph(self._graph)
        for file in self._empty_files:
            if file.exists() and not file.stat().st_size:
                file.unlink()
        for file in self._files:
            file.unlink(missing_ok=True)
        for folder in self._folders:
            with suppress(OSError):  # not ours alone
                folder.rmdir()


def _missing(paths: list[Path] | tuple[Path, ...]) -> list[Path]:
    return [path for path in paths if not path.exists()]


def _remove_graph(path: Path) -> None:
    """Unless another harvest has begun to write into it meanwhile."""
    members = SqliteMembers(path)
    with members.nobody_at_work():
        if not any(sqlite.look(path)) and not members.known():
            for file in files_of(path):
                file.unlink(missing_ok=True)
