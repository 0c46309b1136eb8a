"""Who asks the network for the job `conceptnet`: its client, and the worker that gets media."""

from __future__ import annotations

from pathlib import Path
from threading import Event

from ..errors import UsageError
from ..extend import Extender, Wanted, media_kinds
from ..media.drafts import Drafts
from ..network.client import Client
from ..network.guard import host_of
from ..network.limits import KeptLimits
from ..network.proxy_list import proxies_of
from ..providers import catalogue
from ..proxy import Proxies
from ..settings import Settings


def asks_strangers(settings: Settings) -> bool:
    """Are media asked of anybody but servers that the settings name?"""
    return bool(set(catalogue.usable(settings.extend)) - set(settings.extend.servers))


def client_of(
    settings: Settings,
    stop: Event,
    proxies: Proxies | None = None,
    budgets: Path | None = None,
    kept: KeptLimits | None = None,
) -> Client:
    named, connections = dict(settings.extend.servers), settings.extend_workers
    if settings.source_file is None:
        named["source"] = settings.source
        connections += settings.fetch_workers
    return Client(
        settings.http,
        proxies or proxies_of(settings.proxy, settings.http, stop),
        stop,
        connections,
        limits=catalogue.limits(settings.extend),
        trusted=[_host(name, url) for name, url in named.items()],
        budgets=budgets,
        kept=kept,
    )


def extender_of(settings: Settings, client: Client, drafts: Drafts, stop: Event) -> Extender:
    from ..media.downloader import Downloader  # it takes Pillow with it

    extend = settings.extend
    return Extender(
        catalogue.opened(extend, client),
        Downloader(client, extend, media_kinds(bool(extend.sounds))),
        drafts,
        settings.media,
        Wanted(extend.wanted, extend.enough, extend.patience_days),
        settings.attempts,
        stop,
    )


def _host(name: str, url: str) -> str:
    try:
        return host_of(url)
    except ValueError:
        raise UsageError(
            f"the {name} {url!r} is not an address: write it like http://host:port"
        ) from None
