"""Search as you type over the names of concepts.

What was typed comes first, then names that begin so, then names with words that begin so; among
each of them the best connected first.

Promise: every question is text, whatever stands in it, and looks at a bounded number of names.
Limit: of words that very many names have, the first few thousand names are ranked.
"""

from __future__ import annotations

import json
from collections.abc import Sequence

from ...base.text import nearest, storable
from ...graphs.reader import Name, Reader
from .folding import LONGEST, folded, question
from .sidecar import Sidecar
from .spelling import LONGEST_KEY, exchanged, mistyped

LIMIT = 20
RANKED = 3_000  # names with a word that many have
NEAR = 200

_NAME = "SELECT uri, name, language, degree FROM concept"
_LANGUAGE = "(?2 = '' OR instr(?2, ' ' || language || ' '))"
SAME = f"{_NAME} WHERE folded = ?1 AND {_LANGUAGE} ORDER BY degree DESC, uri LIMIT ?3"
# With one letter or two a third of all names may begin: an index has these in the right order.
BEGINNING = {
    1: f"{_NAME} WHERE substr(folded, 1, 1) = ?1 AND {_LANGUAGE} ORDER BY degree DESC LIMIT ?3",
    2: f"{_NAME} WHERE substr(folded, 1, 2) = ?1 AND {_LANGUAGE} ORDER BY degree DESC LIMIT ?3",
}
LONGER = f"""{_NAME} WHERE folded >= ?1 AND folded < ?1 || char(1114111) AND {_LANGUAGE}
    ORDER BY degree DESC, uri LIMIT ?3"""
WORDS = f"""SELECT uri, name, language, degree FROM
    (SELECT rowid AS id FROM word WHERE word MATCH ?1 LIMIT {RANKED}) JOIN concept USING (id)
    WHERE {_LANGUAGE} ORDER BY degree DESC, uri LIMIT ?3"""
SPELLED = f"""{_NAME} WHERE folded IN (SELECT value FROM json_each(?1)) AND {_LANGUAGE}
    ORDER BY degree DESC, uri LIMIT ?3"""


def find(
    reader: Reader,
    sidecar: Sidecar,
    text: str,
    languages: Sequence[str] = (),
    limit: int = LIMIT,
) -> list[Name]:
    wanted = storable(text)[:LONGEST].strip()
    if not wanted:
        return []
    key, asked = folded(wanted), _asked(languages)
    found = dict.fromkeys(
        _names(sidecar, SAME, key, asked, limit) or _new(reader, wanted, languages, limit)
    )
    if len(found) < limit and key:
        query = BEGINNING.get(len(key), LONGER)
        found |= dict.fromkeys(_names(sidecar, query, key, asked, limit))
    if len(found) < limit and (words := question(wanted)):
        found |= dict.fromkeys(_names(sidecar, WORDS, words, asked, limit))
    return list(found)[:limit]


def _new(reader: Reader, text: str, languages: Sequence[str], limit: int) -> list[Name]:
    """What the graph has and no pass has come to yet."""
    senses = [
        each for each in reader.senses(text, limit) if not languages or each.language in languages
    ]
    return [Name(each.uri, each.name, each.language, 0) for each in senses]


def _names(sidecar: Sidecar, query: str, *values: object) -> list[Name]:
    return [Name(*row) for row in sidecar.rows(query, *values)]


def _asked(languages: Sequence[str]) -> str:
    return f" {' '.join(languages)} " if languages else ""


def did_you_mean(
    reader: Reader, sidecar: Sidecar, text: str, languages: Sequence[str] = ()
) -> str | None:
    """A name that is written nearly so, for a question that finds nothing: one slip away, or with
    the same beginning."""
    key = folded(storable(text))
    if 0 < len(key) <= LONGEST_KEY and (name := _one_slip_away(sidecar, key, _asked(languages))):
        return name
    for length in range(len(key) - 1, max(1, len(key) - 4), -1):
        found = find(reader, sidecar, key[:length], languages, NEAR)
        if near := nearest(key, {each.name for each in found}):
            return near
    return None


def _one_slip_away(sidecar: Sidecar, key: str, asked: str) -> str | None:
    """Letters in each other's place first: few words can come of them by chance."""
    for spellings in (exchanged(key), mistyped(key)):
        if found := _names(sidecar, SPELLED, json.dumps([*spellings]), asked, 1):
            return found[0].name
    return None
