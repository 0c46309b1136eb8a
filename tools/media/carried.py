"""Drafts of a process that keeps none: each comes with its task and goes home with its result."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from .drafts import Draft, Drafts, draft_of


class CarriedDrafts(Drafts):
    """In memory, from when a task comes until its result goes."""

    def __init__(self, media: Path) -> None:
        super().__init__(media / "no drafts here", media)

    def bring(self, owner: str, table: dict[str, Any] | None) -> None:
        if table is not None:
            self._delivered[owner] = draft_of(table)

    def save(self, draft: Draft) -> None:
        draft.date()
        self._delivered[draft.owner] = draft

    def taken(self, owner: str) -> dict[str, Any] | None:
        """What goes home; it is forgotten here."""
        draft = self._delivered.pop(owner, None)
        self._sizes.pop(owner, None)
        return None if draft is None else draft.table()
