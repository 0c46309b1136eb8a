"""`python main.py stats`: the graph in figures, beside those that others publish."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from contextlib import closing
from typing import TYPE_CHECKING

from . import flags

if TYPE_CHECKING:
    from ..web.data.statistics import Share, Statistics

EXAMPLES = (
    "python main.py stats                 tables to read",
    "python main.py stats --json          for a program, or a paper",
)
LONGEST = 15  # lines of a table


class Options(flags.Options):
    json: bool


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="every figure, as JSON")
    flags.add_places(parser, "config", "state", "graph")


def run(options: Options) -> int:
    from ..conceptnet.graph import open_reader
    from ..web.data import statistics

    settings = flags.load(options)
    with closing(open_reader(settings.graph_url, settings.neo4j.password)) as reader:
        found = statistics.count(reader, settings.state)
    if settings.state.exists():  # the live page shows them, with their time
        statistics.keep(found, settings.state)
    if options.json:
        sys.stdout.write(statistics.as_json(found).decode())
    else:
        print("\n".join(as_text(found)))
    return 0


def as_text(found: Statistics) -> list[str]:
    from ..reports.tables import table, titled

    parts = [
        titled("The graph", table(_whole(found))),
        titled("With media, of concepts and of relations", table(_coverage(found))),
        titled("Relations by type, and how many have media", table(_types(found))),
        titled("Files by kind", table(_shares(found.kinds))),
        titled("Files by provider", table(_shares(found.providers))),
        titled("Files by licence", table(_shares(found.licences))),
        titled("Files of an owner", table(_shares(found.owners_by_files))),
        titled("Relations of a concept", table(_shares(found.degrees))),
        titled("What others publish", [*table(_published()), *_sources()]),
    ]
    return "\n\n".join("\n".join(each) for each in parts if each).splitlines()


def _whole(found: Statistics) -> list[tuple[str, ...]]:
    from ..base.text import size

    rows = {
        "concepts": f"{found.concepts:,}",
        "relations": f"{found.relations:,}",
        "files": f"{found.files:,}",
        "together": size(found.bytes),
        "concepts and relations with files": f"{found.owners:,}",
        "files of one of them, on average": f"{found.files_an_owner:.2f}",
        "relations of a concept, on average": f"{found.mean_degree:.2f}",
        "the median, and the most": f"{found.median_degree:,} / {found.most_degree:,}",
        "files judged good / bad": f"{found.judged_good:,} / {found.judged_bad:,}",
    }
    return list(rows.items())


def _coverage(found: Statistics) -> list[tuple[str, ...]]:
    return [
        (each.name, f"{each.percent:.1f} %", f"{found.relation_coverage[kind].percent:.1f} %")
        for kind, each in found.concept_coverage.items()
    ]


def _types(found: Statistics) -> list[tuple[str, ...]]:
    return _first(
        [
            (each.type, f"{each.number:,}", f"{each.percent:.1f} %", f"{each.covered['any']:.1f} %")
            for each in found.types
        ]
    )


def _shares(shares: Sequence[Share]) -> list[tuple[str, ...]]:
    return _first([(each.name, f"{each.number:,}", f"{each.percent:.1f} %") for each in shares])


def _first(rows: list[tuple[str, ...]]) -> list[tuple[str, ...]]:
    left = len(rows) - LONGEST
    if left <= 0:
        return rows
    return [*rows[:LONGEST], (f"and {left:,} more: see --json", *[""] * (len(rows[0]) - 1))]


def _published() -> list[tuple[str, ...]]:
    from ..web.data.published import PUBLISHED

    head = ("", "entities", "images", "with image", "video", "audio")
    rows = [
        (
            f"{each.name} [{_source_names().index(each.source) + 1}]",
            _number(each.entities),
            _number(each.images),
            *(_percent(each.share(modality)) for modality in ("image", "video", "audio")),
        )
        for each in PUBLISHED
    ]
    return [head, *rows]


def _sources() -> list[str]:
    return [f"  [{at}] {name}" for at, name in enumerate(_source_names(), 1)]


def _source_names() -> list[str]:
    from ..web.data.published import PUBLISHED

    return list(dict.fromkeys(each.source for each in PUBLISHED))


def _number(number: int | None) -> str:
    return "" if number is None else f"{number:,}"


def _percent(share: float | None) -> str:
    return "" if share is None else f"{share:.1f} %"
