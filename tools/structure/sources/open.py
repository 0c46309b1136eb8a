"""Which source a text of a job names: its kind, then where it is."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from ...base import extras
from ...base.credentials import hidden
from ...base.text import nearest
from ...errors import UsageError
from .csv_file import CsvSource
from .folder import FolderSource
from .source import Source

Opener = Callable[[str, str, Path, int], Source]
"""From the whole text, what stands behind its kind, the folder of the job, and `max_bytes`."""


def _warc(uri: str, said: str, folder: Path, max_bytes: int) -> Source:
    from .warc_file import WarcSource  # it takes urllib3 with it

    return WarcSource(uri, said, folder, max_bytes)


def _mongodb(uri: str, said: str, folder: Path, max_bytes: int) -> Source:
    """The driver is imported only by those who use it."""
    with extras.named():
        from .mongodb import MongoSource

    return MongoSource(uri, folder, max_bytes)


KINDS: Mapping[str, tuple[str, Opener | None]] = {
    "folder": ("folder:PATH", FolderSource),
    "warc": ("warc:FILE", _warc),
    "csv": ("csv:FILE?body=COLUMN&key=COLUMN", CsvSource),
    "mongodb": ("mongodb://host/database/collection?body=FIELD", _mongodb),
    "pages": ("pages:STATE", None),
    "layers": ("layers:NAME", None),
}
"""How each is written, and who opens it; those of other jobs' states are handed in."""


def open_source(
    uri: str, folder: Path, max_bytes: int, others: Callable[[], Mapping[str, Opener]] = dict
) -> Source:
    """`others` is asked only for a kind that is not known here."""
    kind, separator, said = uri.partition(":")
    _, opener = KINDS.get(kind, ("", None))
    opener = opener or others().get(kind)
    if opener is None or not separator or not said:
        raise UsageError(f"the source {hidden(uri)!r} is not known: {_remedy(kind)}")
    return opener(uri, said, folder, max_bytes)


def _remedy(kind: str) -> str:
    if near := nearest(kind, KINDS):
        return f"write it like {KINDS[near][0]}"
    return f"write it like {', '.join(form for form, _ in KINDS.values())}"
