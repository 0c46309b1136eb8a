"""What a survey found, for people and for programs.

Promise: no line is longer than 80 columns, whatever the file holds, and no character of its names
does anything but stand there.
"""

from __future__ import annotations

from textwrap import wrap
from typing import Any

import orjson

from ...base.text import amount, plain
from ...reports.tables import WIDTH, Row, beside, table
from ..rules import Filter
from .survey import Findings, Share, Table

MOST_ROWS, MOST_LANGUAGES = 60, 20
LOST = {"language": "another language", "relation": "another relation", "weight": "too light"}
TITLES = ("Relation", "Language of both ends", "Dataset", "Weight")


def as_text(found: Findings, wanted: Filter) -> str:
    lost = [("", "lines", "only by this")]
    lost += [
        (LOST[part], f"{lines:,}", f"{alone:,}") for part, (lines, alone) in found.lost.items()
    ]
    sections = [beside("Lost as", table(lost))]
    sections += [beside(title, table(_rows(title, each))) for title, each in tables(found).items()]
    return "\n".join([*_head(found, wanted), *("\n" + "\n".join(each) for each in sections)])


def tables(found: Findings) -> dict[str, Table]:
    """By title, each short enough to be read."""
    languages = shortened(found.languages, MOST_LANGUAGES)
    ends = [("two languages", found.mixed), ("with a web address", found.addresses)]
    shown = (
        shortened(found.relations, MOST_ROWS),
        [*languages, *((name, share) for name, share in ends if share.lines)],
        shortened(found.datasets, MOST_ROWS),
        found.weights,
    )
    return dict(zip(TITLES, shown, strict=True))


def shortened(rows: Table, most: int) -> Table:
    """The first ones, and the others together."""
    if len(rows) <= most:
        return rows
    rest = [share for _, share in rows[most:]]
    together = Share(sum(each.lines for each in rest), sum(each.kept for each in rest))
    return [*rows[:most], (f"{len(rest):,} others", together)]


def _head(found: Findings, wanted: Filter) -> list[str]:
    relations = amount(len(wanted.relations), "type") + " of relation"
    chosen = f"{', '.join(sorted(wanted.languages))}; {relations}; weight at least"
    good = found.lines - found.malformed
    share = f" ({_percent(Share(good, found.kept))})" if good else ""
    lines = (
        f"{plain(str(found.path))}: {amount(found.lines, 'line')}",
        found.complaint or "",
        f"filter: {chosen} {wanted.min_weight:g}",
        f"kept: {amount(found.kept, 'relation')}{share} between {_concepts(found)}",
    )
    return [part for line in lines for part in wrap(line, WIDTH, subsequent_indent="  ")]


def _concepts(found: Findings) -> str:
    if found.is_exact:
        return amount(found.concepts, "concept")
    digits = len(str(found.concepts)) - 3
    return f"about {amount(round(found.concepts, -digits), 'concept')}"


def _rows(title: str, rows: Table) -> list[Row]:
    """The title stands where the first row has nothing, and needs room there."""
    cells: list[Row] = [(" " * (len(title) - 2), "lines", "kept", "")]
    for name, share in rows:
        cells.append((plain(name), f"{share.lines:,}", f"{share.kept:,}", _percent(share)))
    return cells


def _percent(share: Share) -> str:
    """
    >>> [_percent(Share(1000, kept)) for kept in (0, 1, 500, 999, 1000)]
    ['', '<1%', '50%', '99%', '100%']
    """
    if not share.kept:
        return ""
    return f"{100 * share.kept // share.lines}%" if 100 * share.kept >= share.lines else "<1%"


def as_json(found: Findings, wanted: Filter) -> str:
    fields: dict[str, Any] = found._asdict()
    fields["path"] = plain(str(found.path))
    fields["lost"] = {part: lost._asdict() for part, lost in found.lost.items()}
    fields["mixed"], fields["addresses"] = found.mixed._asdict(), found.addresses._asdict()
    for sort in ("relations", "languages", "datasets", "weights"):
        fields[sort] = [{"name": name, **share._asdict()} for name, share in fields[sort]]
    fields["filter"] = {
        "languages": sorted(wanted.languages),
        "relations": sorted(wanted.relations),
        "min_weight": wanted.min_weight,
    }
    return orjson.dumps(fields).decode()
