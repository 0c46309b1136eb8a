"""Where the live page has things: a concept and a relation are at their URIs, a file at its path if
it is here: one that was shipped, or that a node has, is told as that."""

from __future__ import annotations

from pathlib import Path
from typing import Protocol
from urllib.parse import quote, urlencode

from ..add import Media
from ..sheets.album import NOT_HERE
from ..sheets.concept import Group
from ..sheets.environment import part_of_url
from ..sheets.places import Places, Seen
from .data.media_file import is_here


class HasPath(Protocol):
    @property
    def path(self) -> str: ...


class Live(Places):
    def __init__(self, media: Path | None) -> None:
        self._media = media

    def is_here(self, media: HasPath) -> bool:
        return is_here(self._media, media.path)

    def file(self, media: Media, is_small: bool) -> Seen:
        if not self.is_here(media):
            return Seen("", NOT_HERE)
        is_thumb = is_small and media.kind == "image"
        return Seen(f"/{'thumb' if is_thumb else 'file'}/{quote(media.path)}")

    def small(self, media: HasPath) -> str | None:
        return f"/thumb/{quote(media.path)}" if self.is_here(media) else None

    def still(self, media: Media) -> str | None:
        return self.small(media)

    def concept(self, uri: str) -> str:
        return part_of_url(uri)

    def relation(self, uri: str) -> str:
        return part_of_url(uri)

    def type(self, name: str) -> str:
        return f"/r/{quote(name)}"

    def more(self, concept: str, group: Group) -> str | None:
        if group.after is None:
            return None
        weight, after = group.after
        way = "out" if group.is_outward else "in"
        asked = {"concept": concept, "type": group.type, "way": way}
        return f"/more?{urlencode(asked | {'weight': weight, 'after': after})}"
