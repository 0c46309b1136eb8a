"""Numbers that look like chance and belong to their names for ever."""

from __future__ import annotations

from functools import lru_cache
from hashlib import blake2b


@lru_cache(maxsize=4_096)
def chance(*names: object) -> int:
    """
    >>> chance("dog", 1) == chance("dog", 1), chance("dog", 1) == chance("dog", 2)
    (True, False)
    """
    joined = "\0".join(map(str, names)).encode()
    return int.from_bytes(blake2b(joined, digest_size=8).digest())


def style(words: str, look: str) -> int:
    """Of what a text is shown in: looks whose names differ in length or at their end differ in it.

    >>> [style("dog", look) - style("dog", "a 1") for look in ("a 1", "a 2", "abc 1")]
    [0, 1, 10]
    """
    return chance("style", words) % 1_000 + 5 * len(look) + ord(look[-1])
