"""An assertions file that looks like ConceptNet's 5.7 dump, of any size, the same for a seed.

Relations, languages, weights, sources, surface texts and senses come in the proportions of the real
one; every word is made up. Lines are distinct and sorted by their first column, and packed by
`gzip -6`. It holds all concepts in memory, about half a gigabyte for two million lines.

    python -m bench.dump_lines FILE.csv.gz --lines 2000000 --seed 0
"""

from __future__ import annotations

import argparse
import json
import math
import re
import subprocess
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache
from itertools import groupby
from pathlib import Path
from typing import IO, NamedTuple

import numpy as np

from bench.dump_pairs import Kind, Lexicon, addresses, kinds, pairs
from bench.dump_words import ENGLISH, POPULAR, SHARES, Chance, Ids

CHUNK = 50_000
BY_WORDNET = ("SimilarTo", "MannerOf", "PartOf", "DistinctFrom")
BY_WIKTIONARY = (
    *("HasContext", "FormOf", "DerivedFrom", "Synonym", "Antonym", "InstanceOf", "Entails"),
)
TRANSLATED = 0.48  # of the synonyms in English, by WordNet, which tells texts


class Statement(NamedTuple):
    """Everything in the last column but the texts; those stand between its two halves."""

    before: str
    after: str
    is_spoken: bool = False


def write(path: Path, lines: int, seed: int = 0) -> None:
    chance = np.random.default_rng(seed)
    lexicon = Lexicon(lines, chance)
    with packed(path) as out, ThreadPoolExecutor(1) as beside:
        underway = beside.submit(out.write, b"")
        for chunk in chunks(lines, lexicon, chance):
            text = "".join(chunk).encode()
            underway.result()  # one chunk ahead of gzip, not all of them
            underway = beside.submit(out.write, text)
        underway.result()


@contextmanager
def packed(path: Path) -> Iterator[IO[bytes]]:
    """A gzip of its own, so that packing costs the one who writes nothing; whole or not there."""
    part = path.with_name(path.name + ".part")
    with part.open("wb") as file:
        gzip = subprocess.Popen(["gzip", "-6", "-n", "-c"], stdin=subprocess.PIPE, stdout=file)
        assert gzip.stdin is not None
        with gzip, gzip.stdin:
            yield gzip.stdin
    if gzip.returncode:
        raise RuntimeError(f"gzip ended with {gzip.returncode}")
    part.replace(path)


def chunks(lines: int, lexicon: Lexicon, chance: Chance) -> Iterator[list[str]]:
    """All lines in their order."""
    every = [*kinds(lines), Kind("ExternalURL", "addresses", addresses(lines))]
    every.sort(key=lambda kind: f"{kind.relation}/,")
    for relation, group in groupby(every, key=lambda kind: kind.relation):
        if relation == "ExternalURL":
            yield external(lexicon, addresses(lines), chance)
        else:
            yield from assertions(relation, list(group), lexicon, chance)


def assertions(
    relation: str, group: Sequence[Kind], lexicon: Lexicon, chance: Chance
) -> Iterator[list[str]]:
    codes, which, known = [], [], list[Statement]()
    for kind in group:
        codes.append(pairs(kind, lexicon, chance))
        said, picked = statements(kind, lexicon, codes[-1] // len(lexicon.uris), chance)
        which.append(picked + len(known))
        known += said
    every, order = np.unique(np.concatenate(codes), return_index=True)
    starts, ends = np.divmod(every, len(lexicon.uris))
    picks = np.concatenate(which)[order]
    for begin in range(0, len(every), CHUNK):
        here = slice(begin, begin + CHUNK)
        yield formatted(
            f"/r/{relation}", lexicon.uris, starts[here], ends[here], picks[here], known
        )


def formatted(
    relation: str,
    uris: Sequence[str],
    starts: Ids,
    ends: Ids,
    which: Ids,
    known: Sequence[Statement],
) -> list[str]:
    result = []
    for start, end, number in zip(starts.tolist(), ends.tolist(), which.tolist(), strict=True):
        one, other, (before, after, is_spoken) = uris[start], uris[end], known[number]
        texts = spoken(relation, one, other) if is_spoken else ""
        info = f"{before}, {texts}{after}"
        result.append(f"/a/[{relation}/,{one}/,{other}/]\t{relation}\t{one}\t{other}\t{info}\n")
    return result


def spoken(relation: str, start: str, end: str) -> str:
    one, other = label(start), label(end)
    text = f"[[{one}]] {phrase(relation)} [[{other}]]"
    return f'"surfaceEnd": "{other}", "surfaceStart": "{one}", "surfaceText": "{text}", '


def label(uri: str) -> str:
    return uri.split("/", 4)[3].replace("_", " ")


@cache
def phrase(relation: str) -> str:
    """`/r/UsedFor` is said as "is used for"."""
    return "is " + re.sub(r"(?<=[a-z])(?=[A-Z])", " ", relation.removeprefix("/r/")).lower()


# --- what is said of an assertion --------------------------------------------------------------


def statements(
    kind: Kind, lexicon: Lexicon, starts: Ids, chance: Chance
) -> tuple[list[Statement], Ids]:
    """What may be said of this kind, and which of it is said of each."""
    if kind.between == "English":
        said, shares = english(kind.relation)
        return said, chance.choice(len(said), len(starts), p=shares)
    editions = [wiktionary(code) for code in sorted(SHARES)]
    picked = lexicon.languages(starts)
    if (kind.relation, kind.between) == ("Synonym", "to English"):
        editions[sorted(SHARES).index("ja")] = JMDICT
        picked[chance.random(len(picked)) < TRANSLATED] = len(editions)
    return [*editions, WORDNET], picked


def english(relation: str) -> tuple[list[Statement], Ids]:
    parts: list[tuple[float, list[Statement]]]
    if relation == "IsA":
        parts = [(0.3, [DBPEDIA]), (0.4, [WORDNET]), (0.3, people())]
    elif relation == "RelatedTo":
        parts = [(0.83, [wiktionary(ENGLISH)]), (0.17, game())]
    elif relation == "EtymologicallyRelatedTo":
        parts = [(1.0, [wiktionary(ENGLISH, 0.25)])]
    elif relation.startswith("dbpedia/"):
        parts = [(1.0, [DBPEDIA])]
    elif relation in BY_WORDNET:
        parts = [(1.0, [WORDNET])]
    elif relation in BY_WIKTIONARY:
        parts = [(1.0, [wiktionary(ENGLISH)])]
    else:
        parts = [(1.0, people())]
    shares = [np.full(len(said), share / len(said)) for share, said in parts]
    return [statement for _, said in parts for statement in said], np.concatenate(shares)


def statement(
    dataset: str,
    sources: Sequence[dict[str, str]],
    weight: float,
    is_spoken: bool = False,
    terms: str = "cc:by-sa/4.0",
) -> Statement:
    info = {"dataset": dataset, "license": terms, "sources": sources}
    before = json.dumps(info, ensure_ascii=False, sort_keys=True)[:-1]
    return Statement(before, f'"weight": {json.dumps(round(weight, 3))}}}', is_spoken)


def wiktionary(language: str, weight: float = 1.0) -> Statement:
    edition = language if language in ("fr", "de") else ENGLISH
    source = {
        "contributor": f"/s/resource/wiktionary/{edition}",
        "process": "/s/process/wikiparsec/1",
    }
    return statement(f"/d/wiktionary/{edition}", [source], weight)


@cache
def people(count: int = 3000) -> list[Statement]:
    """Somebody says it, and a few vote for it; the weight is ConceptNet's for so many."""
    chance = np.random.default_rng(count)
    voters = np.minimum(chance.geometric(0.8, count), 25)
    return [_by_people(_people(chance, number)) for number in voters.tolist()]


def _people(chance: Chance, count: int) -> list[str]:
    ranks = (500 * chance.random(count) ** 3).astype(int).tolist()
    return [f"{POPULAR[rank % len(POPULAR)]}{rank}" for rank in dict.fromkeys(ranks)]


def _by_people(names: Sequence[str]) -> Statement:
    deeds = ["omcs1_possibly_free_text", *["vote"] * (len(names) - 1)]
    sources = [
        {"activity": f"/s/activity/omcs/{deed}", "contributor": f"/s/contributor/omcs/{name}"}
        for deed, name in zip(deeds, names, strict=True)
    ]
    weight = 2 * math.sqrt(len(names) - 1) if len(names) > 1 else 1.0
    return statement("/d/conceptnet/4/en", sources, weight, True, "cc:by/4.0")


@cache
def game(count: int = 1000) -> list[Statement]:
    """A guessing game: a third of what it tells is hardly believed."""
    chance = np.random.default_rng(count)
    low = chance.uniform(0.1, 0.5, count * 35 // 100)
    high = (
        chance.uniform(0.5, 1.0, count * 5 // 100),
        1 + chance.exponential(0.8, count * 60 // 100),
    )
    source = {"contributor": "/s/resource/verbosity"}
    return [
        statement("/d/verbosity", [source], weight, True, "cc:by/4.0")
        for weight in np.concatenate([low, *high]).tolist()
    ]


WORDNET = statement(
    "/d/wordnet/3.1", [{"contributor": "/s/resource/wordnet/rdf/3.1"}], 2.0, True, "cc:by/4.0"
)
DBPEDIA = statement("/d/dbpedia/en", [{"contributor": "/s/resource/dbpedia/2015/en"}], 0.5)
JMDICT = statement("/d/jmdict", [{"contributor": "/s/resource/jmdict/1.07"}], 2.0)


# --- addresses ---------------------------------------------------------------------------------

SITES = (
    ("http://wordnet-rdf.princeton.edu/wn31/{number:09d}-n", WORDNET._replace(is_spoken=False)),
    ("http://dbpedia.org/resource/{title}_({number})", DBPEDIA),
    ("http://wikidata.dbpedia.org/resource/Q{number}", DBPEDIA),
    ("http://{code}.wiktionary.org/wiki/{word}_{number}", wiktionary(ENGLISH, 0.25)),
    ("http://sw.opencyc.org/concept/Mx4rv{number:08x}EbGdrcN5Y29ycA", DBPEDIA),
)
SITE_SHARES = (0.67, 0.10, 0.10, 0.10, 0.03)


def external(lexicon: Lexicon, count: int, chance: Chance) -> list[str]:
    """Every address is of one concept only."""
    starts = chance.choice(np.concatenate(lexicon.sensed), count).tolist()
    sites = chance.choice(len(SITES), count, p=SITE_SHARES).tolist()
    numbers = (100_000_000 + chance.permutation(count)).tolist()
    result = []
    for start, site, number in zip(starts, sites, numbers, strict=True):
        uri, (shape, said) = lexicon.uris[start], SITES[site]
        _, _, code, word, *_ = uri.split("/")
        url = shape.format(number=number, word=word, title=word.capitalize(), code=code)
        info = f"{said.before}, {said.after}"
        head = f"/a/[/r/ExternalURL/,{uri}/,/{url}/]"
        result.append(f"{head}\t/r/ExternalURL\t{uri}\t{url}\t{info}\n")
    return sorted(result)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.dump_lines", description=__doc__)
    parser.add_argument("file", type=Path)
    parser.add_argument("--lines", type=int, default=2_000_000)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    write(arguments.file, arguments.lines, arguments.seed)


if __name__ == "__main__":
    main()
