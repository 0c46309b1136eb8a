"""Every kind of address of the live page, with the dearest of each: a concept of 100,000 relations,
filters that few pass, texts that nothing holds.

A question is as many addresses as it is asked times: mostly the same one, but a small picture that
was made is kept, and so is for a second what is live.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Sequence
from contextlib import closing
from pathlib import Path
from urllib.parse import quote, urlencode

import numpy
from PIL import Image

REASONS = ("HTTP 404 for https://example.org/", "connection lost to ", "no answer in 30 s from ")
REPEATS = 3
ALL_OF_A_CROWD = "its relations as CSV, 100,000"
PHOTO = 3000, 2000

Question = Sequence[str]
LIVE = ("overview", "work", "failed", "refused", "stats", "runs", "log")


def kinds(home: Path, concepts: Sequence[str]) -> dict[str, list[Question]]:
    found = {name: again(each) for name, each in {**pages(), **of_graph(home, concepts)}.items()}
    live: dict[str, list[Question]] = {
        f"first event of {name}": [first_events(name)] for name in LIVE
    }
    return {**found, **live, "a small picture, made": [photos(home)]}


def again(addresses: Iterable[str]) -> list[Question]:
    return [[each] * REPEATS for each in addresses]


def pages() -> dict[str, list[str]]:
    of_no_group = ("example.org", "/c/", "zzz", REASONS[1] + "1")
    return {
        **{
            name: [f"/{name}"] for name in ("work", "refused", "runs", "log", "settings", "queries")
        },
        "overview": ["/"],
        "failed": ["/failed"],
        "failed for a reason": [asked("/failed", reason=REASONS[1])],
        "failed, by a text": [asked("/failed", reason=each) for each in of_no_group],
        "metrics": ["/metrics"],
        "history as JSON": ["/api/history"],
        "figures": ["/stats"],
        "gallery": ["/media"],
        "gallery, filtered": [
            asked("/media", kind="audio"),
            asked("/media", provider="giphy", licence="CC0 1.0"),
            asked("/media", type="IsA"),
        ],
    }


def of_graph(home: Path, concepts: Sequence[str]) -> dict[str, list[str]]:
    crowd, some = concepts[0], concepts[1:20]
    known = " ".join(concepts[1:200])
    return {
        "search": [asked("/search", q=text) for text in ("b", "ba", "bado", "crowd", "zzz")],
        "as you type": [asked("/search/found", q=text) for text in ("b", "ba", "ka ke", "zzz")],
        "concept": [quote(each) for each in some],
        "concept of 100,000 relations": [crowd],
        "relations of a concept as CSV": [f"/api{quote(each)}?format=csv" for each in some],
        ALL_OF_A_CROWD: [f"/api{crowd}?format=csv"],
        "next relations of 100,000": [
            asked("/more", concept=crowd, type="IsA", way=way, **after)
            for way in ("out", "in")
            for after in ({}, {"weight": "2.5", "after": "/a/"}, {"weight": "0.01", "after": "/a/"})
        ],
        "relation": [quote(each) for each in relations(home, crowd)],
        "picture of a neighbourhood": [asked("/graph", concept=each) for each in some],
        "two steps of it": [asked("/graph", concept=each, depth="2") for each in some],
        "that of 100,000 relations": [asked("/graph", concept=crowd)],
        "neighbourhood as JSON": [asked("/api/graph", concept=each, nodes="24") for each in some],
        "that of 100,000 relations, grown": [
            asked("/api/graph", concept=crowd, nodes="10", known=known),
            asked("/api/graph", concept=crowd, nodes="24", depth="2", types="IsA HasA"),
        ],
        "type of relations": ["/r/IsA", "/r/RelatedTo"],
        "paths": [asked("/path", **{"from": each, "to": crowd}) for each in some],
    }


def asked(path: str, **values: str) -> str:
    return f"{path}?{urlencode(values)}"


def relations(home: Path, crowd: str) -> list[str]:
    """Of the crowd and of others."""
    with closing(sqlite3.connect(home / "graph.db")) as db:
        begun = db.execute("SELECT uri FROM relation WHERE start_uri = ? LIMIT 5", (crowd,))
        others = db.execute("SELECT uri FROM relation LIMIT 5")
        return [uri for (uri,) in (*begun, *others)]


def first_events(name: str) -> list[str]:
    """Of queries of their own: what others look at is made for all of them."""
    return [f"/live/{name}?time={at}" for at in range(REPEATS)]


def photos(home: Path) -> list[str]:
    """One for each time that it is asked for, in the folder of media."""
    with closing(sqlite3.connect(home / "graph.db")) as db:
        rows = db.execute("SELECT path FROM media WHERE kind = 'image' LIMIT ?", (REPEATS,))
        paths = [path for (path,) in rows]
    noise = numpy.random.default_rng(1).integers(0, 256, (PHOTO[1] // 4, PHOTO[0] // 4, 3), "uint8")
    photo = Image.fromarray(noise).resize(PHOTO)
    for path in paths:
        file = home / "m" / path
        file.parent.mkdir(parents=True, exist_ok=True)
        photo.save(file, "JPEG", quality=85)
    return [f"/thumb/{quote(path)}" for path in paths]
