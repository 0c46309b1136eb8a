"""Graphs to export: one in which every text is hard, and the sample's."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

from tests.support.graph_world import HARD, fill
from tests.support.store_contract import image, relation, write
from tools.add import Entity, unseen
from tools.exports.catalogue import export
from tools.graphs.sqlite import SqliteGraph
from tools.sample import world

CONTROL = "".join(map(chr, (*range(0x20), 0x7F, 0x85, 0xA0, 0x2028, 0x2029, 0xFEFF)))
NAMES = ["NA", "null", "nan", "None", "=1+1", "@x", "-", " ", "\t", '"', "'", "#", CONTROL]
CONCEPTS = [
    *("/c/en/100%", "/c/en/a%20b", "/c/en/a|b", "/c/en/a\\|b", "/c/en/<x>{y}^`", "/c/zh/狗"),
    *("/c/en/a#b#c?d", "/c/en/[x]", "/c/en/no\xa0break", "/c/en/\U0001f600", "/c/en/\ue000"),
]
TRICKY = [
    image(path)._replace(title=title, license_url=address, page=address, author=CONTROL)
    for path, title, address in (
        ("0.jpg", "=cmd", "javascript:alert(1)"),
        ("-1 %20|x.png", HARD, "https://example.org/a b<c>"),
        ("'@#.png", "", "https://example.org/ü?a=%20&b#c"),
    )
]


def hostile(file: Path) -> Path:
    with closing(SqliteGraph(file)) as graph:
        fill(graph)
        write(graph, *(relation("RelatedTo", each, "/c/en/dog") for each in CONCEPTS))
        graph.write([Entity(f"/c/en/name_{at}", name, "en", f"/c/en/name_{at}", name)
                     for at, name in enumerate(NAMES)], ())  # fmt: skip
        graph.attach({"/c/en/100%": TRICKY})
    return file


def sample_graph(file: Path) -> Path:
    """Every relation of the sample world, without a harvest, and some media."""
    lines = [line.split("\t") for line in world.lines()]
    relations = [
        relation(rel[3:], start, end)
        for _, rel, start, end, _ in lines
        if start.startswith("/c/") and end.startswith("/c/")
    ]
    with closing(SqliteGraph(file)) as graph:
        write(graph, *relations)
        graph.attach({"/c/en/dog": [image("en/dog/image/0.png"), image("en/dog/image/1.png")]})
    return file


def exported(file: Path, folder: Path, name: str, **options: int) -> Path:
    with closing(SqliteGraph(file)) as graph:
        export(graph, folder, unseen, name, **options)
    return folder
