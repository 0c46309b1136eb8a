"""The books beside the media, so that a folder of media carries its own credits wherever it goes.

`MEDIA.jsonl` has a line for each file, `ATTRIBUTION.csv` the credit of each in a table, and
`SEARCHES.jsonl` a line for each concept or relation: who was asked, what was refused and why, and
that nothing was found if nothing was.

Promise: a file stands in the books once its records are in the graph. Lines are only ever added;
after a crash some may stand there twice or be torn, which `tidy` puts right.
"""

from __future__ import annotations

import io
import os
import re
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import orjson

from tools.add import Attachment, Media
from tools.credits import Credit, as_csv
from tools.errors import StopHarvest

FILES, CREDITS, SEARCHES = "MEDIA.jsonl", "ATTRIBUTION.csv", "SEARCHES.jsonl"

Line = Mapping[str, Any]


class Ledger:
    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def __bool__(self) -> bool:
        """Do media lie here already?"""
        return any((self._folder / name).exists() for name in (FILES, SEARCHES))

    def add(self, attachments: Sequence[Attachment]) -> None:
        files = [Credit(each.owner, file) for each in attachments for file in each.media]
        self._append(FILES, b"".join(_line(_entry(each)) for each in files))
        self._append(CREDITS, _csv(files, header=not (self._folder / CREDITS).exists()))
        self._append(SEARCHES, b"".join(_line(each.search) for each in attachments))

    def tidy(self) -> None:
        """Each file and each search once, the last word about it; no file that is not there."""
        if not self:
            return
        files = self._last_of(FILES, "path", lambda line: (self._folder / line["path"]).is_file())
        self._rewrite(FILES, b"".join(map(_line, files)))
        self._rewrite(CREDITS, _csv(map(_credit, files), header=True))
        searches = self._last_of(SEARCHES, "owner", lambda _: True)
        self._rewrite(SEARCHES, b"".join(map(_line, searches)))

    def latest(self, count: int) -> list[str]:
        """Concepts that got media last, the last one first."""
        concepts = (
            line["owner"] for line in self._lines(FILES) if not line["owner"].startswith("/a/")
        )
        recent: dict[str, None] = {}
        for owner in concepts:
            recent.pop(owner, None)
            recent[owner] = None
        return list(reversed(deque(recent, maxlen=count)))

    def refusals(self) -> dict[str, int]:
        """How many files were not kept, by reason; what differs stands in brackets or after a
        colon."""
        refused = (each for line in self._lines(SEARCHES) for each in line["refused"])
        reasons = Counter(re.split(r" \(|:| for ", each["reason"])[0] for each in refused)
        return dict(reasons.most_common())

    def _last_of(self, name: str, key: str, holds: Callable[[Line], bool]) -> list[Line]:
        last = {line[key]: line for line in self._lines(name)}
        return [line for line in last.values() if holds(line)]

    def _lines(self, name: str) -> Iterator[Line]:
        path = self._folder / name
        if not path.exists():
            return
        with path.open("rb") as file:
            for line in file:
                try:
                    yield orjson.loads(line)
                except orjson.JSONDecodeError:  # torn by a crash; what it told is told again
                    continue

    def _append(self, name: str, text: bytes) -> None:
        """One write, so that a kill leaves the line whole or not at all; flushed for power cuts."""
        if not text:
            return
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW
            file = os.open(self._folder / name, flags, 0o600)
            try:
                with open(file, "wb", buffering=0, closefd=False) as raw:
                    raw.write(text)
                os.fdatasync(file)
            finally:
                os.close(file)
        except OSError as error:
            raise self._unwritable(error) from error

    def _rewrite(self, name: str, text: bytes) -> None:
        path = self._folder / name
        part = path.with_name(f"{name}.part")
        try:
            if path.exists() and path.read_bytes() == text:
                return
            part.write_bytes(text)
            part.replace(path)
        except OSError as error:
            raise self._unwritable(error) from error

    def _unwritable(self, error: OSError) -> StopHarvest:
        return StopHarvest(
            f"{self._folder} cannot be written ({error.strerror}): see to it, then start again"
        )


def _entry(credit: Credit) -> dict[str, Any]:
    return {"owner": credit.owner, **credit.media._asdict()}


def _credit(line: Line) -> Credit:
    return Credit(line["owner"], Media(*(line[name] for name in Media._fields)))


def _line(value: Mapping[str, object]) -> bytes:
    return orjson.dumps(value, option=orjson.OPT_APPEND_NEWLINE)


def _csv(credits: Iterable[Credit], header: bool) -> bytes:
    text = io.StringIO(newline="")
    as_csv(credits, text, header)
    return text.getvalue().encode()
