"""The live page over a large graph: processor seconds of this process for one answer.

500,000 concepts, 1.5 million relations, a million files; one concept has 100,000 relations.
"""

from __future__ import annotations

import json
import random
import sqlite3
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from functools import partial
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

from bench import explore_pages
from bench.report import Bar, Row, Say
from tools.add import Entity, Media, Relation, by_kind
from tools.conceptnet.graph import open_reader
from tools.graphs.reader import FIRST, Reader
from tools.graphs.sqlite import SCHEMA, SqliteGraph
from tools.sheets.concept import concept, more
from tools.uri import assertion
from tools.web.data import gallery, media_file, search, statistics
from tools.web.data.gallery import Filter
from tools.web.data.growing import Grower
from tools.web.data.neighbourhood import neighbourhood
from tools.web.data.paths import paths
from tools.web.data.relations import type_page
from tools.web.data.sidecar import NAME, Sidecar

CONCEPTS, RELATIONS, FILES, CROWD = 500_000, 1_500_000, 1_000_000, 100_000
INDEXES = ("entity_name", "relation_start", "relation_end", "media_owner")
NO_FILES = (None, None, None)
ANSWER = Bar("<", 0.2, " s")
TYPES = ("IsA", "HasA", "UsedFor", "CapableOf", "PartOf", "AtLocation", "Causes", "RelatedTo")
LANGUAGES = ("en", "en", "en", "de", "fr", "ja")
LICENCES = ("cc-by-4.0", "cc-by-sa-4.0", "cc-by-sa-3.0", "cc0-1.0", "pd", "cc-by-2.0", "pdm-1.0")
PROVIDERS = ("commons", "openverse", "inaturalist", "freesound", "giphy", "archive")
SYLLABLES = [first + then for first in "bcdfghklmnprstvw" for then in "aeiou"]


def measure(scale: float, say: Say) -> Iterator[Row]:
    chance = random.Random(1)
    with TemporaryDirectory() as folder:
        home = Path(folder)
        say("making the graph")
        concepts = make(home / "graph.db", chance, scale)
        with (
            closing(open_reader(f"sqlite:{home / 'graph.db'}")) as reader,
            closing(Sidecar(home / NAME)) as sidecar,
        ):
            say("making search.db")
            yield from grown(reader, sidecar, home)
            say("asking")
            for what, questions in asked(reader, sidecar, concepts, chance, home).items():
                yield answered(what, questions)
            say("counting")
            yield counted(reader, home)
        yield from explore_pages.measured(home, concepts, scale, say)


def make(path: Path, chance: random.Random, scale: float) -> list[str]:
    """Rows in the order of their keys, and the indexes last: as a graph is after years, in
    minutes."""
    SqliteGraph(path).close()
    concepts = [_concept(at, chance) for at in range(int(CONCEPTS * scale))]
    relations = sorted({each.uri: each for each in _relations(concepts, chance, scale)}.values())
    owners = concepts[: len(concepts) // 2] + [each.uri for each in relations[::15]]
    files = int(FILES * scale) // len(owners) + 1
    media = {owner: _files(owner, files, chance) for owner in sorted(owners)}
    with closing(sqlite3.connect(path)) as db:
        for index in INDEXES:
            db.execute(f"DROP INDEX {index}")
        lists = {owner: _lists(files) for owner, files in media.items()}
        entities = ((*Entity.of(each), *lists.get(each, NO_FILES)) for each in sorted(concepts))
        db.executemany(f"INSERT INTO entity VALUES ({'?, ' * 7}?)", entities)
        links = ((*each, *lists.get(each.uri, NO_FILES)) for each in relations)
        db.executemany(f"INSERT INTO relation VALUES ({'?, ' * 10}?)", links)
        rows = sorted((f.path, owner, *f[1:]) for owner, files in media.items() for f in files)
        db.executemany(f"INSERT INTO media VALUES ({'?, ' * 18}?)", rows)
        db.commit()
        db.executescript(SCHEMA)
    return concepts


def _lists(files: Sequence[Media]) -> list[str | None]:
    return [None if paths is None else json.dumps(paths) for paths in by_kind(files).values()]


def _concept(at: int, chance: random.Random) -> str:
    if at == 0:
        return "/c/en/crowd"
    words = [
        "".join(chance.choices(SYLLABLES, k=chance.randint(1, 4)))
        for _ in range(chance.choice((1, 1, 2, 3)))
    ]
    return f"/c/{chance.choice(LANGUAGES)}/{'_'.join(words)}_{at:x}"


def _relations(concepts: Sequence[str], chance: random.Random, scale: float) -> Iterator[Relation]:
    """The first concept has a crowd, of which half comes to it."""
    crowd = int(CROWD * scale)
    for at in range(int(RELATIONS * scale)):
        start = concepts[0] if at < crowd / 2 else chance.choice(concepts)
        popular = chance.random() < 0.2
        end = (
            concepts[int(len(concepts) * chance.random() ** 4)]
            if popular
            else chance.choice(concepts)
        )
        end = concepts[0] if crowd / 2 <= at < crowd else end
        type_ = chance.choice(TYPES)
        weight = round(chance.random() * 5, 2)
        uri = assertion(f"/r/{type_}", start, end)
        yield Relation(uri, type_, start, end, weight, None, "cc:by/4.0", "/d/bench")


def _files(owner: str, number: int, chance: random.Random) -> list[Media]:
    kinds = [chance.choice(("image", "image", "image", "visual", "audio")) for _ in range(number)]
    return [_file(f"{owner.replace('/', '@')}/{at}", kind, chance) for at, kind in enumerate(kinds)]


def _file(path: str, kind: str, chance: random.Random) -> Media:
    mime = {"image": "image/jpeg", "visual": "image/gif", "audio": "audio/ogg"}[kind]
    side = None if kind == "audio" else chance.randint(200, 2000)
    return Media(
        path, kind, mime, f"{chance.getrandbits(256):064x}", 50_000, side, side,
        chance.random() * 20 if kind == "audio" else None, chance.choice(LICENCES), None, "Ada",
        "https://example.org/page", "https://example.org/file", chance.choice(PROVIDERS), "A file",
        None, f"2026-01-{chance.randint(1, 28):02}T00:00:00+00:00",
    )  # fmt: skip


def grown(reader: Reader, sidecar: Sidecar, home: Path) -> Iterator[Row]:
    grower, steps = Grower(reader, sidecar), list[float]()
    began = time.process_time()
    while _timed(grower.step, steps):
        pass
    yield Row("search.db, whole: CPU", [time.process_time() - began], " s", 1)
    yield Row("its steps, the median: CPU", [median(steps)], " s", 3)
    yield Row("its longest step: CPU", [max(steps)], " s", 3)
    yield Row("its size", [(home / NAME).stat().st_size / 1e6], " MB", 0)


def _timed(work: Callable[[], object], into: list[float]) -> object:
    began = time.process_time()
    found = work()
    into.append(time.process_time() - began)
    return found


Questions = Sequence[Callable[[], object]]

TEXTS = ("b", "ba", "bab", "bado", "crowd", "ba ba", "ba b", "zzz", "犬", "babadobu k", "ka ke ki")
SLIPS = ("corwd", "babadobukk", "zzzqqq", "a name of as many as 30 letter")
FILTERS = (
    Filter(), Filter(kind="audio"), Filter(kind="image", language="ja"), Filter(size="small"),
    Filter(kind="visual", provider="giphy", licence="CC0 1.0", language="de", size="large"),
    Filter(type="IsA"), Filter(type="-", licence="public domain"), Filter(provider="none"),
    Filter(remark="-"),
)  # fmt: skip


def asked(
    reader: Reader, sidecar: Sidecar, concepts: Sequence[str], chance: random.Random, home: Path
) -> dict[str, Questions]:
    some = chance.sample(concepts, 40)
    deep = [
        f"{moment}.{chance.randrange(900_000)}"
        for moment in range(1_767_300_000, 1_769_400_000, 150_000)
    ]
    some_files = gallery.page(reader, sidecar, Filter()).files
    pairs = [(chance.choice(concepts), chance.choice(concepts)) for _ in range(30)]
    return {
        "search as you type": [partial(search.find, reader, sidecar, t) for t in TEXTS],
        "search in one language": [partial(search.find, reader, sidecar, t, ["ja"]) for t in TEXTS],
        "a name with a slip": [partial(search.did_you_mean, reader, sidecar, t) for t in SLIPS],
        "a concept": [partial(concept, reader, c) for c in some],
        "a concept of 100,000 relations": [partial(concept, reader, concepts[0])],
        "its next relations": [partial(more, reader, concepts[0], "IsA", True, FIRST)],
        "a neighbourhood": [partial(neighbourhood, reader, c) for c in some],
        "two steps around it": [partial(neighbourhood, reader, c, depth=2) for c in some],
        "that of 100,000 relations": [partial(neighbourhood, reader, concepts[0])],
        "two steps around that": [partial(neighbourhood, reader, concepts[0], depth=2)],
        "a type of relations": [partial(type_page, reader, t, None) for t in TYPES],
        "paths between two": [partial(paths, reader, *p) for p in pairs],
        "a page of the gallery": [partial(gallery.page, reader, sidecar, f) for f in FILTERS],
        "a page far in": [
            partial(gallery.page, reader, sidecar, f, a) for f in FILTERS for a in deep
        ],
        "counts for its filters": [partial(gallery.facets, sidecar, f) for f in FILTERS],
        "a file by its hash": [
            partial(media_file.records_of, reader, sidecar, f.media.sha256) for f in some_files
        ],
    }


def answered(what: str, questions: Questions) -> Row:
    """The dearest of each round counts."""
    spent: list[float] = []
    for _ in range(3):
        each: list[float] = []
        for question in questions:
            _timed(question, each)
        spent.append(max(each))
    return Row(f"{what}: CPU of the dearest", spent, " s", 4, ANSWER)


def counted(reader: Reader, home: Path) -> Row:
    began = time.process_time()
    statistics.count(reader, home)
    return Row("statistics, aside: CPU", [time.process_time() - began], " s", 1)
