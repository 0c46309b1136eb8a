"""Where a walk begins: what a user types, or keeps in a file, as concepts.

Promise: `Dog`, `ice cream`, `/c/en/dog/` and `https://conceptnet.io/c/en/dog` mean what they
plainly mean; what is no concept is refused in a sentence with an example; nothing typed is ever
replaced by the default seed.
"""

from __future__ import annotations

import re
import stat
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple
from urllib.parse import unquote

from .. import uri
from ..base.list_file import lines_in
from ..errors import UsageError
from .mirror import normalise as standard

MOST_NAMED = 10
EXAMPLE = "write it like /c/en/dog, or just dog"

_SITE = re.compile(r"(?:https?://)?(?:www\.|api\.)?conceptnet\.io(?::\d+)?(?=/c/)", re.IGNORECASE)
_FILE_NAME = re.compile(r"[^,]*\.(?:txt|text|csv|tsv|list|lst)", re.IGNORECASE)
# A number such as 10,000 has a comma of its own; an old URI such as washington,_d.c has one too.
_BETWEEN = re.compile(r",(?!_)(?!(?<=\d,)\d)")


class Seed(NamedTuple):
    concept: str
    text: str  # as it was typed


def seeds_of(given: Iterable[str], languages: Sequence[str]) -> list[Seed]:
    """Each is a concept, several with commas between them, or a file with some on each line."""
    found: list[Seed] = []
    for each in given:
        if _is_file(each):
            found += _in_file(Path(each), languages)
        else:
            texts = _split(each) or [each]
            found += [Seed(_required(text, languages[0], "the seed"), text) for text in texts]
    if not found:
        raise UsageError(f"there is no seed: {EXAMPLE}")
    for seed in found:
        if uri.language(seed.concept) not in languages:
            raise UsageError(_wrong_language(seed, languages))
    return list({seed.concept: seed for seed in reversed(found)}.values())[::-1]


def concept_of(text: str, language: str) -> str | None:
    """The concept a text means, None if it means none.

    >>> [concept_of(text, "en") for text in ("Dog", "ice cream", "the cat", "/c/de/Hund/", "#")]
    ['/c/en/dog', '/c/en/ice_cream', '/c/en/cat', '/c/de/hund', None]
    >>> concept_of("http://api.conceptnet.io/c/fr/caf%C3%A9?limit=5", "en")
    '/c/fr/café'
    """
    text = text.strip()
    if site := _SITE.match(text):
        text = re.split(r"[?#]", text[site.end() :])[0]
    if text.startswith(("/c/", "c/")):
        found = _tidied("/" + text.removeprefix("/"))
    elif "/" in text:
        return None
    else:
        found = standard.concept(language, text)
    is_sound = uri.is_concept(found) and len(found) <= uri.LONGEST_URI and _is_text(found)
    return found if is_sound else None


def explained(seeds: Sequence[Seed]) -> Iterator[str]:
    """What those were taken for that were typed in another way."""
    others = [seed for seed in seeds if seed.text != seed.concept]
    for seed in others[:MOST_NAMED]:
        yield f"the seed {seed.text!r} is taken for {seed.concept}"
    if len(others) > MOST_NAMED:
        yield f"and {len(others) - MOST_NAMED:,} more are taken for concepts in the same way"


def concept_named(text: str, languages: Sequence[str]) -> str:
    """The one concept that a command is about."""
    return _required(text, languages[0], "")


def _required(text: str, language: str, what: str) -> str:
    if (found := concept_of(text, language)) is None:
        shown = text if len(text) <= 200 else f"{text[:200]}..."
        raise UsageError(f"{what} {shown!r} is not a concept: {EXAMPLE}".strip())
    return found


def _tidied(concept: str) -> str:
    """A URI is taken as it is, but for what no URI of ConceptNet has."""
    concept = unquote(concept).rstrip("/")
    concept = re.sub(r"\s+", "_", concept.strip())
    _, _, language, *rest = (*concept.split("/", 3), "")
    if any(each.isupper() and each.casefold() != each for each in concept):
        return f"/c/{language.lower()}/{standard.folded(language.lower(), rest[0])}"
    return concept


def _is_text(found: str) -> bool:
    """A word of the command line may be bytes that are no text."""
    try:
        return bool(found.encode())
    except UnicodeEncodeError:
        return False


def _split(text: str) -> list[str]:
    """
    >>> _split("dog, cat,,/c/en/10,000")
    ['dog', 'cat', '/c/en/10,000']
    """
    return [each.strip() for each in _BETWEEN.split(text) if each.strip()]


def _wrong_language(seed: Seed, languages: Sequence[str]) -> str:
    own = uri.language(seed.concept)
    return (
        f"the seed {seed.concept} is of the language {own}, and the filter keeps only "
        f"{', '.join(languages)}: add --language {','.join([*languages, str(own)])}, or give "
        f"another --seed"
    )


# --- files ---------------------------------------------------------------------------------


def _is_file(given: str) -> bool:
    """Is a file meant? One that cannot be read is reported, not taken for a concept."""
    if given.startswith("/c/"):
        return False
    mode = _mode(given)
    if stat.S_ISDIR(mode):
        raise UsageError(
            f"the seed {given} is a folder: name a file in it, or write the concept like /c/en/dog"
        )
    if not mode and _FILE_NAME.fullmatch(given):
        raise UsageError(f"there is no file {given}: --seed takes a concept, or a file of them")
    return stat.S_ISREG(mode)


def _mode(given: str) -> int:
    """0 for what is no file of any kind."""
    try:
        return Path(given).stat().st_mode if given else 0
    except (OSError, ValueError):
        return 0


def _in_file(file: Path, languages: Sequence[str]) -> list[Seed]:
    found = []
    for number, line in lines_in(file):
        texts = _split(line.partition("#")[0])
        what = f"line {number} of {file}:"
        found += [Seed(_required(text, languages[0], what), text) for text in texts]
    if not found:
        raise UsageError(f"{file} names no seed: write one concept on each line, like /c/en/dog")
    return found
