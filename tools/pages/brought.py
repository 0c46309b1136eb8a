"""What a worker brings of one page: records for the table, and answers for the archive.

Where an answer stands in the archive is known only when the one writer has appended it, so it
travels packed, and becomes a capture there.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ..archive.answer import Answered
from .page import Record


@dataclass(frozen=True, slots=True)
class Brought:
    """`answers` belong to the first of the records."""

    records: Sequence[Record]
    answers: Sequence[Answered] = ()
