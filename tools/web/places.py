"""Where the live page has things: a concept and a relation are at their URIs."""

from __future__ import annotations

from urllib.parse import quote, urlencode

from ..add import Media
from ..sheets.concept import Group
from ..sheets.environment import part_of_url
from ..sheets.places import Places, Seen


class Live(Places):
    def file(self, media: Media, is_small: bool) -> Seen:
        is_thumb = is_small and media.kind == "image"
        return Seen(self.small(media) if is_thumb else f"/file/{quote(media.path)}")

    def small(self, media: Media) -> str:
        return f"/thumb/{quote(media.path)}"

    def still(self, media: Media) -> str:
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
