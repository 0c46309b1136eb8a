"""A site of pages that lead to each other at random, the same for a number, and its truth."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from random import Random

from tests.support.worlds.hostile_site import Answer, HostileSite, page, redirect, slowly

Graph = Mapping[str, Sequence[str]]
WORDS = ["rose", "ivy", "oak", "elm", "fern", "moss", "reed", "sage", "thyme", "yew"]


class RandomSite:
    """`links` of each page; those in `sent` are redirects to another."""

    def __init__(self, number: int, size: int = 60) -> None:
        chance = Random(number)
        names = ["/", *(f"/p{each}" for each in range(1, size))]
        self.links: dict[str, list[str]] = {}
        for at, name in enumerate(names):
            near = names[max(0, at - 5) : at + 8]  # so that some are far away
            count = chance.choice([0, 1, 2, 3, 5])
            self.links[name] = chance.sample(near, min(count, len(near)))
        self.links["/"] += names[1:4]
        self.sent = {name: chance.choice(names) for name in names[5::9]}
        self.missing = set(names[7::11]) - set(self.sent)
        self._chance = chance

    def text(self, name: str) -> str:
        chance = Random(name)
        return " ".join(chance.choices(WORDS, k=20))

    def put(self, site: HostileSite, slowest: float = 0.0) -> None:
        """Each answer takes its own time, at random."""
        for name, links in self.links.items():
            if name in self.missing:
                continue
            if name in self.sent:
                whole = redirect(self.sent[name])
            else:
                whole = page(*links, text=self.text(name), title=name)
            site.put(name, self._late(whole, slowest))

    def _late(self, whole: bytes, slowest: float) -> Answer:
        return slowly(whole, self._chance.uniform(0, slowest)) if slowest else whole

    def depths(self, most: int) -> dict[str, int]:
        """Breadth first; a redirect walks no link."""
        found, level = {"/": 0}, ["/"]
        for depth in range(most + 1):
            queue, level = level, []
            while queue:
                name = queue.pop()
                if name in self.missing:
                    continue
                is_sent = name in self.sent
                where = depth if is_sent else depth + 1
                for link in [self.sent[name]] if is_sent else self.links[name]:
                    if where <= most and found.get(link, most + 1) > where:
                        found[link] = where
                        (queue if is_sent else level).append(link)
        return found
