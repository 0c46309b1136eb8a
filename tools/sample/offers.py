"""What each provider of the sample offers for a text, and which of it is bad on purpose.

Promise: a pure function of the text. Most texts have enough at Commons, some need Openverse, and
animals and plants often iNaturalist; some have nothing of a kind, a few nothing at all. One text in
twelve has a bad file, ranked so that it is met before there is enough of the good; a twin of a good
one is met by those who want two.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import lru_cache
from hashlib import blake2b
from typing import NamedTuple, TypeVar

from ..add import KINDS

PROVIDERS = ("commons", "openverse", "inaturalist")
WANTED = dict.fromkeys(KINDS, 1)

FLAWS = (
    ("html", "image"),  # a web page under the name of a picture
    ("cut", "image"),  # ends in the middle, and nobody said how long it is
    ("empty", "image"),
    ("bomb", "image"),  # claims so many pixels that decoding would fill the memory
    ("unfree", "image"),  # its licence does not allow to keep it
    ("noai", "image"),  # its host asks not to use it for this
    ("missing", "image"),
    ("redirect", "image"),  # to an address inside the network of whoever follows
    ("twin", "image"),  # the same bytes as the good one before it
    ("near twin", "image"),  # the same picture as the good one before it, smaller and worse
    ("nameless", "image"),  # nobody knows who made it
    ("html", "audio"),
    ("cut", "audio"),
    ("empty", "audio"),
    ("unfree", "audio"),
    ("noai", "audio"),
    ("missing", "audio"),
    ("nameless", "audio"),
    ("still", "visual"),  # a gif that does not move
    ("cut", "visual"),
    ("redirect", "visual"),
    ("unfree", "visual"),
)

AUTHORS = (
    "Ada Example",
    "Ben Sample",
    "Cleo Placeholder",
    "Dora Dummy",
    "Emil Nobody",
    "Fay Fiction",
    "Gus Invented",
    "Hal Makebelieve",
)

_SHORT = 8  # letters; longer sounds take long to compress
_TWINS = ("twin", "near twin")
_T = TypeVar("_T")


class File(NamedTuple):
    provider: str
    kind: str
    text: str
    number: int  # in its provider's list for this text and kind, from 1
    extension: str
    look: str  # files of the same look show the same
    flaw: str = ""  # or one of FLAWS

    @property
    def name(self) -> str:
        return f"{self.text} {self.number}.{self.extension}"


class Licence(NamedTuple):
    code: str  # as Openverse writes it
    version: str

    @property
    def url(self) -> str:
        folders = {"cc0": "publicdomain/zero", "pdm": "publicdomain/mark"}
        folder = folders.get(self.code, f"licenses/{self.code}")
        return f"https://creativecommons.org/{folder}/{self.version}/"


LICENCES = (
    Licence("cc0", "1.0"),
    Licence("pdm", "1.0"),
    Licence("by", "4.0"),
    Licence("by", "2.0"),
    Licence("by-sa", "4.0"),
    Licence("by-sa", "3.0"),
    Licence("by-sa", "2.5"),
)
UNFREE = Licence("by-nd", "4.0")


class Offers:
    """Nothing is offered for a text that is not known."""

    def __init__(self, known: Collection[str], taxa: Collection[str]) -> None:
        self._known = frozenset(known)
        self._taxa = frozenset(taxa)

    def files(self, provider: str, kind: str, text: str) -> list[File]:
        """The best first, as far as their provider knows."""
        counts = self.good(kind, text)
        flaw = flaw_of(text, kind) if provider == next(iter(counts), None) else ""
        return _ranked(provider, kind, text, counts.get(provider, 0), flaw)

    def good(self, kind: str, text: str) -> dict[str, int]:
        """How many good files there are at each provider that has some, Commons first."""
        wanted = WANTED[kind]
        place = _number("place", kind, text) % 100
        if text not in self._known or _number("nothing", text) % 100 == 0 or place < 4:
            return {}
        is_living = text in self._taxa and kind != "visual"
        if is_living and place < 30:
            counts = {"commons": wanted - 1, "inaturalist": wanted}
        elif place < (45 if is_living else 20):
            counts = {"commons": wanted - 1, "openverse": wanted}
        else:
            spare = place % 8 == 0
            counts = {"commons": wanted + spare, "openverse": place % 3, "inaturalist": is_living}
        return {provider: count for provider, count in counts.items() if count}


def flaw_of(text: str, kind: str) -> str:
    """The flaw of this text's bad file of this kind, if it has one."""
    number = _number("flaw", text)
    flaw, of = FLAWS[number // 12 % len(FLAWS)]
    return flaw if number % 12 == 0 and of == kind else ""


def licence_of(file: File) -> Licence:
    return UNFREE if file.flaw == "unfree" else chosen(LICENCES, "licence", *file)


def author_of(file: File) -> str:
    """Empty if nobody knows."""
    return "" if file.flaw == "nameless" else chosen(AUTHORS, "author", *file)


def identity(*names: object) -> int:
    """A number that belongs to these names for ever, such as that of a page.

    >>> identity("dog") == identity("dog"), identity("dog") == identity("cat")
    (True, False)
    """
    return _number("identity", *names) % 100_000_000


def chosen(options: Sequence[_T], *names: object) -> _T:
    return options[_number(*names) % len(options)]


def _ranked(provider: str, kind: str, text: str, good: int, flaw: str) -> list[File]:
    flaws = [""] * good
    if flaw:
        flaws.insert(1 if flaw in _TWINS else 0, flaw)
    files: list[File] = []
    for number, each in enumerate(flaws, start=1):
        look = f"{provider} {number}"
        file = File(provider, kind, text, number, _extension(kind, text, look, each), look, each)
        if each in _TWINS:
            file = file._replace(extension=files[0].extension, look=files[0].look)
        files.append(file)
    return files


def _extension(kind: str, text: str, look: str, flaw: str) -> str:
    """What is cheap to make, and now and then something else."""
    if kind == "visual":
        return "gif"
    place = _number("extension", kind, text, look) % 100
    if kind == "image":
        return "png" if flaw == "bomb" or place < 4 else "webp" if place < 7 else "jpg"
    if flaw == "cut":
        return "mp3" if place < 50 else "ogg"
    if len(text) <= _SHORT and place < 12:
        return "mp3" if place < 4 else "ogg"
    return "wav" if place < 50 else "flac"


@lru_cache(maxsize=4_096)
def _number(*names: object) -> int:
    joined = "\0".join(map(str, names)).encode()
    return int.from_bytes(blake2b(joined, digest_size=8).digest())
