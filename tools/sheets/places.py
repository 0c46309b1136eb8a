"""Where things are, for the templates: all that a page in a file and one of a server differ in.

Promise of a page in a file: it holds what it shows, and leads to pages beside it that are there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple, Protocol

from markupsafe import Markup

from ..add import Media
from .album import Album, NotShown
from .concept import Group

LARGE, SMALL, COVER, TINY = 1280, 320, 480, 96
"""Sides of pictures in pixels: of a concept, of a relation, of a card, of the other end."""


class Seen(NamedTuple):
    """The address of a file; if there is none, `absent` says why."""

    address: str
    absent: str = ""


class Places(Protocol):
    """None where there is nothing to lead to."""

    def file(self, media: Media, is_small: bool) -> Seen: ...
    def small(self, media: Media) -> str | None:
        """A picture beside a name."""

    def still(self, media: Media) -> str | None:
        """What is seen of a gif where nothing is to move."""

    def concept(self, uri: str) -> str | None: ...
    def relation(self, uri: str) -> str | None: ...
    def type(self, name: str) -> str | None: ...
    def more(self, concept: str, group: Group) -> str | None:
        """The next lines of a group."""


class InFile(Places):
    """`page` is the file beside this one that shows a concept, if it has one."""

    def __init__(self, album: Album, page: Callable[[str], str | None]) -> None:
        self._album, self._page = album, page

    def file(self, media: Media, is_small: bool) -> Seen:
        try:
            address = self._album.data(media, SMALL if is_small else LARGE)
        except NotShown as error:
            return Seen("", str(error))
        return Seen(Markup(address))  # noqa: S704  # of types of our own list, in base64

    def small(self, media: Media) -> str | None:
        return self.cover([media], TINY)

    def still(self, media: Media) -> None:
        return None

    def cover(self, media: Iterable[Media], side: int = COVER) -> str | None:
        """The first that can be shown."""
        for each in media:
            try:
                return Markup(self._album.still(each, side))  # noqa: S704
            except NotShown:
                continue
        return None

    def concept(self, uri: str) -> str | None:
        return self._page(uri)

    def relation(self, uri: str) -> None:
        return None

    def type(self, name: str) -> None:
        return None

    def more(self, concept: str, group: Group) -> None:
        return None
