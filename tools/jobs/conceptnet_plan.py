"""What a harvest of ConceptNet would ask, and where its graph and media would go."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Iterator, Sequence
from pathlib import Path
from urllib.parse import urlsplit

from ..add import KINDS
from ..base.text import amount, size
from ..conceptnet.graph import graph_counts
from ..errors import UsageError
from ..graphs.open import is_embedded
from ..network.limits import Limit, merged
from ..providers import catalogue
from ..reports.counts import counted
from ..settings import Settings
from .conceptnet_asking import asks_strangers

MOST_SEEDS = 5

Row = tuple[str, str]


def plan(settings: Settings, options: Namespace) -> Iterator[Row]:
    yield from _what(settings, options)
    url = settings.graph_url
    there = graph_counts(url) if is_embedded(url) else None
    unknown = "not there yet" if is_embedded(url) else "a server, which is not asked now"
    yield "graph", f"{url}: {counted(there) if there else unknown}"
    yield from _media(settings, options.sample)


def _what(settings: Settings, options: Namespace) -> Iterator[Row]:
    yield "source", _source(settings, options)
    yield "seeds", "everything in the file" if options.all else _few(settings.seeds)
    chosen = settings.filter
    kinds = amount(len(chosen.relations), "type")
    yield "kept", f"{', '.join(chosen.languages)}; weight {chosen.min_weight:g} or more; {kinds}"
    bounds = {"concepts": settings.limit, "relations away": settings.depth}
    ends = [f"{number:,} {name}" for name, number in bounds.items() if number is not None]
    yield "at most", ", ".join(ends) or "all that can be reached"


def _source(settings: Settings, options: Namespace) -> str:
    if options.sample:
        return "the built-in sample world, on this computer"
    if (file := settings.source_file) is not None:
        return try_file(file)
    if options.all:
        raise UsageError("--all needs a file: --source FILE")
    limits = merged({}, settings.http.limits)
    limit = limits.get(urlsplit(settings.source).hostname or "", Limit())
    return f"{settings.source} ({limit.spoken or 'no limit'})"


def _few(names: Sequence[str]) -> str:
    more = len(names) - MOST_SEEDS
    return ", ".join(names[:MOST_SEEDS]) + (f" and {more:,} more" if more > 0 else "")


def try_file(path: Path) -> str:
    """Reads its beginning."""
    from ..conceptnet.dump.lines import Lines  # it takes numpy with it

    lines = Lines(path)
    if next(lines.chunks(), None) is None:
        raise UsageError(f"{path} is empty: `python main.py download` fetches ConceptNet's dump")
    return f"{path} can be read: {size(lines.size)}"


def _media(settings: Settings, is_sample: bool) -> Iterator[Row]:
    extend = settings.extend
    if not extend.is_wanted:
        yield "media", "none"
        return
    numbers = {KINDS[kind]: number for kind, number in extend.wanted.items()}
    most = 1 if is_sample else max(numbers.values())
    each = ", ".join(amount(min(number, most), kind) for kind, number in numbers.items())
    yield "media", f"up to {each} for {_ground(extend.ground)}, into {settings.media}"
    if is_sample:
        yield "providers", "servers of the sample, on this computer"
        return
    if asks_strangers(settings) and not settings.http.contact:
        yield "contact", "none: Wikimedia refuses those who do not say who asks"
    limits = merged(catalogue.limits(extend), settings.http.limits)
    for name in catalogue.usable(extend):
        hosts = catalogue.KNOWN[name].limits if name not in extend.servers else {}
        texts = [f"{host} {limits[host].spoken}" for host in hosts if any(limits[host])]
        yield name, "; ".join(texts) or catalogue.base_of(name, extend)


def _ground(ground: str) -> str:
    return "concepts and relations" if ground == "both" else ground
