"""What of the job `conceptnet` is done on nodes, as its coordinator sees it.

Promise: what a node brings is a stranger's word. Relations are those that the filter keeps, URIs
well-formed and of this page, files in the folder of their owner; anything else is a ValueError, and
nothing of it is kept.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from ..add import KINDS, Attachment, Graph, Media, Relation
from ..base.config import table_of
from ..base.sha256 import is_sha256
from ..cluster.abroad import Abroad, Plain
from ..conceptnet.rules import TOO_LIGHT, Filter
from ..engine.stage import Done, Found, Task
from ..errors import HarvestError, UsageError
from ..extend import counted
from ..fetch import Fetcher
from ..media.drafts import Drafts, draft_of
from ..network.guard import host_named
from ..network.limits import Limits, merged
from ..providers import catalogue
from ..providers.names import NEED_KEY
from ..settings import Settings
from ..uri import LONGEST_URI, assertion, media_folder

if TYPE_CHECKING:
    from .conceptnet import ConceptnetJob

TRAVEL = ("source", "attempts", "depth", "filter", "extend", "http", "stop_grace_s")
MOST_FILES, LONGEST_SEARCH = 1000, 100_000
TEXTS = ("mime", "license", "license_url", "author", "page", "source", "provider", "title")
MORE_TEXTS = ("phash", "time", "remark")
LONGEST_TEXT = 20_000


def abroad_of(job: ConceptnetJob, settings: Settings, graph: Graph, wanted: Filter) -> Abroad:
    """Relations are fetched there where they are asked of a server; media in any case."""
    check_own_hosts(settings)
    cargoes: dict[str, Any] = {}
    if settings.source_file is None:
        cargoes["fetch"] = PageCargo(wanted, job.fetcher)
    if "extend" in job.workers:
        cargoes["extend"] = FileCargo(job.drafts, graph)
    if not cargoes:
        raise UsageError("nodes cannot help: the file is read here, and no media are wanted")
    limits = job.client.limits
    return Abroad(
        job.harvest_id,
        job.description.name,
        _setup_of(settings),
        cargoes,
        limits if isinstance(limits, Limits) else None,
        job.client.traffic,
        keys={"extend": sorted(settings.extend.keys)},
        advice=_advice(settings, cargoes),
    )


def _advice(settings: Settings, stages: Iterable[str]) -> list[str]:
    """Where more nodes cannot make anything faster."""
    limits = merged(catalogue.limits(settings.extend), settings.http.limits)
    found = []
    host = urlsplit(settings.source).hostname or ""
    if "fetch" in stages and host in limits and host not in settings.cluster.per_node:
        found.append(
            f"fetch: {host} allows {' and '.join(limits[host].rates)} to all nodes together, so "
            "nodes do not make it faster; a mirror of your own does (python main.py mirror)"
        )
    slow = [f"{host} {limit.rates[0]}" for host, limit in limits.items() if limit.is_for_days]
    if "extend" in stages and slow:
        found.append(
            f"extend: searches are limited for all nodes together ({'; '.join(slow)}), and "
            "providers' terms forbid several machines to get around that; decoding, disk, "
            "bandwidth and hosts without limits are what nodes add"
        )
    return found


def _setup_of(settings: Settings) -> dict[str, Any]:
    """Keys, proxies and the way to the receiving node are each node's own."""
    table = table_of(settings)
    found = {name: table[name] for name in TRAVEL if name in table}
    providers = [
        name
        for name in settings.extend.providers
        if name not in NEED_KEY or name in settings.extend.keys
    ]
    found["extend"] = {**found["extend"], "providers": providers}
    return {"settings": found, "per_node": sorted(settings.cluster.per_node)}


def check_own_hosts(settings: Settings) -> None:
    """What a provider or ConceptNet allows it allows to all of us together."""
    from ..conceptnet.settings import LIMITS

    theirs = {host for known in catalogue.KNOWN.values() for host in known.limits} | set(LIMITS)
    for name in settings.cluster.per_node:
        if host_named(name) in theirs:
            raise UsageError(
                f"cluster.per_node: {name} is not yours: what it allows, it allows to all nodes "
                "together"
            )


class PageCargo(Plain):
    """The relations of a page; everything else follows from them, as `fetcher` says."""

    def __init__(self, wanted: Filter, fetcher: Fetcher) -> None:
        self._wanted = wanted
        self._fetcher = fetcher

    def incoming(self, task: Task, result: Done | HarvestError, cargo: Any) -> object:
        if not isinstance(result, Done):
            return None
        if not isinstance(cargo, list):
            raise ValueError("what was found is no page")
        kept = [self._relation(task.uri, each) for each in cargo]
        light = {TOO_LIGHT: result.tally[TOO_LIGHT]} if TOO_LIGHT in result.tally else {}
        own = self._fetcher.done(task, kept, light)
        if (result.to, result.reason, result.tally) != (own.to, None, own.tally):
            raise ValueError("what was found leads elsewhere")
        allowed = {group.stage: set(group.uris) for group in own.found}
        for group in result.found:
            _require_plain(group, allowed.get(group.stage, set()))
        return own.records

    def _relation(self, concept: str, fields: Any) -> Relation:
        if not isinstance(fields, list) or len(fields) != len(Relation._fields):
            raise ValueError("what was found is no relation")
        each = Relation(*fields)
        texts = (each.uri, each.type, each.start, each.end)
        more = (each.surface_text, each.license, each.dataset)
        if not all(isinstance(text, str) and len(text) <= LONGEST_URI for text in texts):
            raise ValueError("what was found is no relation")
        if not all(text is None or _is_text(text) for text in more):
            raise ValueError("what was found is no relation")
        weight = each.weight
        if type(weight) not in (int, float) or not math.isfinite(weight):
            raise ValueError("what was found has no weight")
        each = each._replace(weight=float(weight))
        is_kept = self._wanted.keeps(each.type, each.start, each.end, each.weight)
        if not is_kept or not self._wanted.belongs_to(concept, each.start, each.end):
            raise ValueError("what was found is not what the filter keeps")
        if each.uri != assertion(f"/r/{each.type}", each.start, each.end):
            raise ValueError("what was found has the URI of something else")
        return each


def _require_plain(group: Found, allowed: set[str]) -> None:
    is_plain = group.priority == 0 and group.depth is None
    if not is_plain or group.notes is not None or group.again is not None:
        raise ValueError("what was found is not found like that")
    if not allowed.issuperset(group.uris):
        raise ValueError("what was found leads where its page does not")


class FileCargo(Plain):
    """Files stay on the node; a draft without any travels."""

    def __init__(self, drafts: Drafts, graph: Graph) -> None:
        self._drafts = drafts
        self._graph = graph

    def outgoing(self, task: Task) -> Any:
        return self._drafts.lend(task.uri)

    def incoming(self, task: Task, result: Done | HarvestError, cargo: Any) -> object:
        if isinstance(result, Done):
            found = attachment_of(task.uri, cargo)
            leads = (result.to, result.reason, list(result.found), result.tally)
            if leads != ("finished", None, [], counted(found.media)):
                raise ValueError("what was found leads elsewhere")
            return found
        if isinstance(cargo, dict) and isinstance(cargo.get("draft"), dict):
            draft = draft_of(cargo["draft"])
            if draft.owner != task.uri or draft.media:
                raise ValueError("what was found is of somebody else")
            self._drafts.save(draft)
        return None

    def has_files(self, cargo: Any) -> bool:
        return isinstance(cargo, dict) and bool(cargo.get("media") or cargo.get("files") is True)

    def is_stored(self, uri: str, cargo: Any) -> bool:
        brought = attachment_of(uri, cargo)
        with self._graph.still() as graph:
            known = graph.media_of([uri]).get(uri, [])
        # The graph lists them by kind, a draft in the order in which they were found.
        stored = {(each.path, each.sha256) for each in known}
        return stored == {(each.path, each.sha256) for each in brought.media}


def attachment_of(owner: str, cargo: Any) -> Attachment:
    """ValueError if it is none of this owner's."""
    try:
        media, search = cargo["media"], cargo["search"]
        files = [_file(owner, each) for each in media[: MOST_FILES + 1]]
    except (TypeError, KeyError):
        raise ValueError("what was found are no files") from None
    if len(files) > MOST_FILES or len({each.path for each in files}) < len(files):
        raise ValueError("what was found are no files")
    return Attachment(owner, tuple(files), _search(owner, search))


def _file(owner: str, fields: Any) -> Media:
    each = Media(*fields)
    place = PurePosixPath(str(each.path))
    is_its_own = str(place.parent) == f"{media_folder(owner)}/{each.kind}"
    if each.kind not in KINDS or not is_its_own or place.name in ("", ".", ".."):
        raise ValueError("what was found is of somebody else")
    if str(place) != each.path or not _is_text(each.path):
        raise ValueError("what was found is of somebody else")
    if not is_sha256(each.sha256):
        raise ValueError("what was found has no hash")
    texts = (getattr(each, name) for name in (*TEXTS, *MORE_TEXTS))
    are_numbers = (
        _is_number(each.bytes, int)
        and (each.width is None or _is_number(each.width, int))
        and (each.height is None or _is_number(each.height, int))
        and (each.duration is None or _is_number(each.duration, int, float))
    )
    are_texts = _is_text(each.mime) and all(text is None or _is_text(text) for text in texts)
    if not are_numbers or not are_texts:
        raise ValueError("what was found is no file")
    return each


def _is_number(value: object, *kinds: type) -> bool:
    """As it is stored: not what is only as good as none."""
    return type(value) in kinds and 0 <= value < 2**53  # type: ignore[operator]


def _is_text(value: object) -> bool:
    return isinstance(value, str) and len(value) <= LONGEST_TEXT and "\0" not in value


SEARCH: Mapping[str, Callable[[Any], bool]] = {
    "owner": _is_text,
    "text": _is_text,
    "time": _is_text,
    "asked": lambda value: _are_texts(value),
    "kept": lambda value: _are_counts(value),
    "refused": lambda value: _are_tables(value),
    "links": lambda value: _are_tables(value),
}


def _search(owner: str, table: Any) -> dict[str, Any]:
    if not isinstance(table, dict) or set(table) != set(SEARCH) or table["owner"] != owner:
        raise ValueError("what was found says not how")
    if not all(is_good(table[name]) for name, is_good in SEARCH.items()):
        raise ValueError("what was found says not how")
    return table


def _are_counts(value: Any) -> bool:
    is_table = isinstance(value, dict) and set(value) == set(KINDS)
    return is_table and all(_is_number(number, int) for number in value.values())


def _are_texts(value: Any) -> bool:
    return isinstance(value, list) and len(value) < LONGEST_SEARCH and all(map(_is_text, value))


def _are_tables(value: Any) -> bool:
    if not isinstance(value, list) or len(value) > LONGEST_SEARCH:
        return False
    return all(isinstance(each, dict) and _is_row(each) for each in value)


def _is_row(table: Mapping[str, Any]) -> bool:
    texts = [text for text in table.values() if text is not None]
    return _are_texts(texts) and ("reason" in table or "page" in table)


def page_cargo(records: Any) -> Sequence[Any]:
    """What a node sends of a page."""
    return list(records.relations)
