"""Who made an archive, and how: the first record of each of its files says so."""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from ..base.version import VERSION
from .record import FIELDS, WARCINFO, fields, record, warc_date

PART_OF = "isPartOf"
HEAD = 2**16  # bytes: the first record is far shorter


@dataclass(frozen=True, slots=True)
class Origin:
    harvest: str  # its id
    operator: str = ""  # whom to write to
    robots: str = "obey"

    def record(self, file: str, time: datetime) -> bytes:
        values = {
            "software": f"Sheaf/{VERSION}",
            "format": "WARC file version 1.1",
            "operator": self.operator,
            "robots": self.robots,
            PART_OF: self.harvest,
        }
        headers = [("WARC-Date", warc_date(time)), ("WARC-Filename", file)]
        told = {name: value for name, value in values.items() if value}
        return record(WARCINFO, FIELDS, headers, fields(told))

    def wrote(self, path: Path) -> bool:
        """Is this a file of this harvest? One without content may be: nothing is lost with it."""
        with path.open("rb") as file:
            head = file.read(HEAD)
        if not head:
            return True
        try:
            text = zlib.decompressobj(16 + zlib.MAX_WBITS).decompress(head, HEAD)
        except zlib.error:
            return False
        lines = text.split(b"\r\n")
        is_first = lines[0] == b"WARC/1.1" and b"WARC-Type: warcinfo" in lines
        return is_first and fields({PART_OF: self.harvest}).strip() in lines
