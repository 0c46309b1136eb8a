"""Documents from the states of other jobs: pages of a crawl, kept answers of a task.

Promise: a state is only read, while its job may be at work. What is not in the archive any more is
told, and the rest is read.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

import orjson

from ..archive.reader import Kept, read
from ..archive.record import Place
from ..base.credentials import hidden
from ..base.text import plain
from ..errors import UsageError
from ..layers.kept import FOLDER, INDEX, KeptAnswer, latest_in
from ..pages.archived import Archived
from ..pages.open_table import visit_table
from ..pages.page import Capture
from ..pages.table import PageTable
from ..settings import Settings
from ..structure.sources.open import Opener
from ..structure.sources.query import options_of
from ..structure.sources.source import Item, Source, too_large

BACK = 1000
"""Numbers that are looked at again: after a power cut the last ones are given a second time."""


def others_of(settings: Settings) -> Mapping[str, Opener]:
    """What `open_source` needs to open them."""

    def pages(uri: str, said: str, folder: Path, max_bytes: int) -> Source:
        return PagesSource(uri, said, folder, max_bytes, settings)

    def layers(uri: str, said: str, folder: Path, max_bytes: int) -> Source:
        return LayersSource(uri, said, max_bytes, settings)

    return {"pages": pages, "layers": layers}


class PagesSource:
    """`pages:STATE`: the last good answer of each page of a crawl. Its table and archive are those
    of the settings, or `?database=URL&archive=DIR`."""

    is_whole = False

    def __init__(
        self, uri: str, said: str, folder: Path, max_bytes: int, settings: Settings
    ) -> None:
        name, _, query = said.partition("?")
        options = options_of(uri, query, ("database", "archive"), needed=())
        database = options.get("database", settings.pages.database)
        archive = folder / options["archive"] if "archive" in options else settings.pages.archive
        table = visit_table(database, folder / name, settings.pages.password_file)
        if table is None:
            raise UsageError(f"{hidden(uri)}: there is no crawl in {plain(str(folder / name))}")
        self.uri = uri
        self._max_bytes = max_bytes
        self._table: PageTable = table
        self._archived = Archived(table, archive, max_bytes)

    def items(self, position: str) -> Iterator[tuple[Item, str]]:
        after = int(position or 0)
        for number, url, capture in self._table.latest(max(0, after - BACK)):
            version = f"{capture.time} {capture.digest or ''}"
            place = orjson.dumps(tuple(capture)).decode()
            yield Item(url, version, place, capture.mime), str(max(after, number))

    def read(self, place: str) -> bytes:
        capture = Capture(*orjson.loads(place))
        return _body(self._archived.kept(capture), self._max_bytes)

    def close(self) -> None:
        self._table.close()


class LayersSource:
    """`layers:NAME`: what a task keeps, of each request the last answer. The index has no order of
    arrival, so each round looks at all of it, which costs little: unchanged ones are not read."""

    is_whole = True

    def __init__(self, uri: str, said: str, max_bytes: int, settings: Settings) -> None:
        self.uri = uri
        self._max_bytes = max_bytes
        self._state = settings.layers.state / said
        if not (self._state / INDEX).exists():
            raise UsageError(
                f"{plain(uri)}: {plain(str(self._state))} keeps no answers: write keep = true in "
                "the layers whose answers are wanted, and run the task"
            )

    def items(self, position: str) -> Iterator[tuple[Item, str]]:
        for each in latest_in(self._state, position):
            yield Item(each.request, each.digest, _place(each), each.type), each.request

    def read(self, place: str) -> bytes:
        where = Place(*orjson.loads(place))
        return _body(read(self._state / FOLDER, where, self._max_bytes), self._max_bytes)

    def close(self) -> None:
        pass


def _place(answer: KeptAnswer) -> str:
    return orjson.dumps((answer.file, answer.offset, answer.length)).decode()


def _body(kept: Kept, max_bytes: int) -> bytes:
    if kept.is_cut:
        raise too_large(plain(kept.address), max_bytes)
    return kept.body(max_bytes)
