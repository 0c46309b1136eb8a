"""A made-up graph that needs no memory: a URI's neighbours follow from the URI itself.

Everything is reached from the first one: each has two children of a tree among its neighbours, the
others are anywhere.
"""

from __future__ import annotations

from hashlib import blake2b
from typing import NamedTuple
from zlib import crc32

KEYS = 1 << 48
SPREAD = 0x5DEECE66D1B5  # odd, so that no two numbers share a key
BACK = pow(SPREAD, -1, KEYS)
PREFIX = "/c/en/"
DIGEST_BYTES = 64


class World(NamedTuple):
    uris: int
    degree: int  # neighbours of each; up to ten
    shards: int

    def owner(self, uri: str) -> int:
        return crc32(uri.encode()) % self.shards

    def neighbours(self, uri: str) -> list[str]:
        number = number_of(uri)
        digest = blake2b(number.to_bytes(8, "big"), digest_size=DIGEST_BYTES).digest()
        far = (
            int.from_bytes(digest[start : start + 8], "big") % self.uris
            for start in range(0, 8 * (self.degree - 2), 8)
        )
        children = (child for child in (2 * number + 1, 2 * number + 2) if child < self.uris)
        return [uri_of(each) for each in (*children, *far)]


def uri_of(number: int) -> str:
    """Neighbours in number are nowhere near in the index, like the concepts of a walk."""
    return f"{PREFIX}{number * SPREAD % KEYS:012x}"


def number_of(uri: str) -> int:
    return int(uri.removeprefix(PREFIX), 16) * BACK % KEYS
