"""How the pages of a crawl are asked for: through which client, by which rules."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from threading import Event
from typing import Protocol

from ..documents.address import CLICKS, DEFAULT, SESSIONS, DropParameters
from ..network.client import Client
from ..network.hosts import Hosts
from ..network.limits import KeptLimits
from ..pages.analyse import Analyse
from ..pages.download import Download, Wanted
from ..pages.keeper import Keeper
from ..pages.lookup import ArchiveLookup, PageLookup, SameCounted, StateLookup
from ..pages.requisites import Requisites
from ..pages.robots_rules import RobotsRules
from ..pages.robots_txt import RobotsTxt
from ..pages.visit import Visitor
from ..proxy import Proxies
from ..settings import Settings


class Lookup(ArchiveLookup, PageLookup, StateLookup, Protocol):
    """The table, or whoever asks it."""


def dropped_by(names: Sequence[str]) -> DropParameters:
    """Parameters that do not make another page; those of the settings besides the usual ones."""
    return DropParameters.named("utm_*", *SESSIONS, *CLICKS, *names) if names else DEFAULT


def crawled_hosts(settings: Settings) -> Hosts:
    """Who may be asked when; a host's robots.txt comes first, if it is to be obeyed."""
    pages = settings.pages
    return Hosts(
        pages.delay_s,
        pages.delay_factor,
        pages.per_host,
        pages.crawl_delay_cap_s,
        asks_first=pages.robots == "obey",
    )


def crawling_client(
    settings: Settings, trusted: Collection[str], stop: Event, kept: KeptLimits | None = None
) -> Client:
    """Hosts that the user named as seeds are trusted: they may be anywhere. `kept` are limits that
    somebody else keeps."""
    pages, http = settings.pages, settings.http
    http = replace(http, connect_timeout_s=pages.connect_timeout_s)
    proxies = Proxies(settings.proxy.urls)
    return Client(http, proxies, stop, pages.download_workers, trusted=trusted, kept=kept)


def robots_of(
    settings: Settings, visitor: Visitor, keeper: Keeper, rules: RobotsRules, drop: DropParameters
) -> RobotsTxt | None:
    """None if nobody's robots.txt is read."""
    if settings.pages.robots != "obey":
        return None
    return RobotsTxt(visitor, keeper, rules, drop, settings.pages.sitemaps)


def download_of(
    settings: Settings,
    visitor: Visitor,
    table: Lookup,
    analyse: Analyse,
    robots: RobotsTxt | None,
    traps: SameCounted,
    drop: DropParameters,
    plain: frozenset[str],
) -> Download:
    """`plain` are seeds that were typed without a scheme."""
    pages, keeper = settings.pages, Keeper(table)
    types, refetches = frozenset(pages.types), pages.refetch_after_s is not None
    wanted = Wanted(pages.max_bytes, pages.attempts, types, refetches, plain)
    others = Requisites(visitor, keeper, table, drop, pages.max_bytes)
    return Download(visitor, keeper, table, analyse, robots, traps, drop, wanted, others)
