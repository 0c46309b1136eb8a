"""`python main.py --dry-run`: what a harvest would do, by what lies on the disk.

Promise: nothing is made, and nobody is asked: no source, no provider, no server.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from urllib.parse import urlsplit

from ..base.text import amount
from ..conceptnet.graph import graph_counts
from ..errors import UsageError
from ..graphs.open import is_embedded
from ..jobs.conceptnet import asks_strangers
from ..journal.holder import running
from ..journal.reader import look as look_at_state
from ..network.limits import Limit, merged
from ..providers import catalogue
from ..reports.progress import table
from ..settings import Settings
from .counts import counted
from .harvest import Options
from .trials import try_file

MOST_SEEDS = 5

Row = tuple[str, str]


def show_plan(settings: Settings, options: Options) -> int:
    rows = [
        *_what(settings, options),
        *_where(settings, options),
        *_media(settings, options.sample),
    ]
    print(f"{table(rows)}\nnothing was made or asked (--dry-run)")
    return 0


def _what(settings: Settings, options: Options) -> Iterator[Row]:
    yield "source", _source(settings, options)
    yield "seeds", "everything in the file" if options.all else _few(settings.seeds)
    chosen = settings.filter
    kinds = amount(len(chosen.relations), "type")
    yield "kept", f"{', '.join(chosen.languages)}; weight {chosen.min_weight:g} or more; {kinds}"
    bounds = {"concepts": settings.limit, "relations away": settings.depth}
    ends = [f"{number:,} {name}" for name, number in bounds.items() if number is not None]
    yield "at most", ", ".join(ends) or "all that can be reached"


def _source(settings: Settings, options: Options) -> str:
    if options.sample:
        return "the built-in sample world, on this computer"
    if (file := settings.source_file) is not None:
        return try_file(file)
    if options.all:
        raise UsageError("--all needs a file: --source FILE")
    limits = merged({}, settings.http.limits)
    return f"{settings.source} ({_spoken(limits.get(urlsplit(settings.source).hostname or ''))})"


def _few(names: Sequence[str]) -> str:
    more = len(names) - MOST_SEEDS
    return ", ".join(names[:MOST_SEEDS]) + (f" and {more:,} more" if more > 0 else "")


def _where(settings: Settings, options: Options) -> Iterator[Row]:
    yield "state", f"{settings.state}: {_state(settings, options)}"
    url = settings.graph_url
    there = graph_counts(url) if is_embedded(url) else None
    unknown = "not there yet" if is_embedded(url) else "a server, which is not asked now"
    yield "graph", f"{url}: {counted(there) if there else unknown}"


def _state(settings: Settings, options: Options) -> str:
    if holder := running(settings.state):
        return f"a harvest runs there (process {holder.pid}), a second one would be refused"
    if options.resume:
        return f"would begin from {options.resume}"
    if not settings.pools_file.exists():
        return "new, it begins with the seeds"
    if options.fresh:
        return "would be set aside, it begins anew with the seeds"
    pools = look_at_state(settings.pools_file).pools
    return "goes on: " + ", ".join(f"{name} {count:,}" for name, count in pools.items())


def _media(settings: Settings, is_sample: bool) -> Iterator[Row]:
    extend = settings.extend
    if not extend.is_wanted:
        yield "media", "none"
        return
    numbers = {"image": extend.images, "sound": extend.sounds, "gif": extend.gifs}
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
        texts = [f"{host} {_spoken(limits[host])}" for host in hosts if any(limits[host])]
        yield name, "; ".join(texts) or catalogue.base_of(name, extend)


def _ground(ground: str) -> str:
    return "concepts and relations" if ground == "both" else ground


def _spoken(limit: Limit | None) -> str:
    """
    >>> _spoken(Limit(("20/minute",), at_once=2)), _spoken(None)
    ('20/minute, 2 at once', 'no limit')
    """
    if limit is None:
        return "no limit"
    at_once = () if limit.at_once is None else (f"{limit.at_once} at once",)
    return ", ".join([*limit.rates, *at_once]) or "no limit"
