"""What a setting may be. A wrong one is refused at the start, in a sentence that names it."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import fields
from operator import attrgetter
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from . import uri
from .base.config import unknown
from .base.credentials import TRANSPORT_PROXY_VARIABLE
from .conceptnet.rules import ALL_RELATIONS
from .errors import WrongSetting

if TYPE_CHECKING:
    from .settings import ExtendSettings, Settings, TransportSettings

PROXY_SCHEMES = ("http", "https", "socks5", "socks5h", "socks4", "socks4a")
TUNNEL_SCHEMES = tuple(each for each in PROXY_SCHEMES if each != "https")
LEVELS = ("debug", "info", "warning", "error")
GROUNDS = ("concepts", "relations", "both")
PROVIDERS = (
    "commons",
    "openverse",
    "inaturalist",
    "freesound",
    "flickr",
    "pexels",
    "giphy",
    "archive",
)
LICENCES = (
    *("cc0", "pdm", "pd", "by", "by-sa", "by-nc", "by-nd", "by-nc-sa", "by-nc-nd", "pexels"),
)
DAY_S, YEAR_S = 86_400, 366 * 86_400
MOST = {
    "fetch_workers": 1000,
    "extend_workers": 1000,
    "attempts": 1000,
    "stop_grace_s": DAY_S,
    "reserve_bytes": 10**18,
    "http.connect_timeout_s": DAY_S,
    "http.answer_timeout_s": DAY_S,
    "http.max_bytes": 10**10,
    "http.tries": 100,
    "extend.images": 1000,
    "extend.sounds": 1000,
    "extend.gifs": 1000,
    "extend.patience_days": 3660,
    "extend.rest_s": DAY_S,
    "extend.file_timeout_s": DAY_S,
    "extend.image_max_bytes": 10**10,
    "extend.sound_max_bytes": 10**10,
    "extend.gif_max_bytes": 10**10,
    "extend.near_bits": 64,
    "extend.sheets": 10_000,
    "clock.keep": 100_000,
    "clock.hang_s": YEAR_S,
    "notices.source_down_s": YEAR_S,
    "notices.timeout_s": DAY_S,
    "transport.port": 65_535,
    "transport.volume_mb": 10**6,
    "transport.connections": 100,
    "transport.outbox_mb": 10**12,
    "transport.timeout_s": DAY_S,
    "transport.receipt_s": DAY_S,
}
"""Beyond these a setting is a slip of the finger, or more than threads, waits and buffers bear."""
USUAL_TIMES = ("0 * * * *", "* * * * *")


def check(settings: Settings) -> None:
    for name, most in MOST.items():
        _require(attrgetter(name)(settings) <= most, f"{name} must be at most {most:,}")
    weight = settings.filter.min_weight
    _require(math.isfinite(weight), f"filter.min_weight must be a number, not {weight}")
    for name in ("fetch_workers", "extend_workers", "attempts"):
        _require(getattr(settings, name) >= 1, f"{name} must be at least 1")
    _require(settings.limit is None or settings.limit >= 1, "limit must be at least 1")
    _require(settings.depth is None or settings.depth >= 0, "depth must be 0 or more")
    for name in ("stop_grace_s", "reserve_bytes"):
        _require(getattr(settings, name) >= 0, f"{name} must be 0 or more")
    for name in ("connect_timeout_s", "answer_timeout_s", "max_bytes", "tries"):
        _require(getattr(settings.http, name) > 0, f"http.{name} must be more than 0")
    _require(settings.log.level in LEVELS, f"log.level must be one of {', '.join(LEVELS)}")
    _require(bool(settings.filter.languages), "filter.languages must name at least one language")
    _require(settings.dump.max_malformed >= 0, "dump.max_malformed must be 0 or more")
    for language in settings.filter.languages:
        _require(
            uri.is_concept(f"/c/{language}/x"),
            f"{language!r} is no language: write it like en",
            "filter.languages",
        )
    check_relations(settings.filter.relations)
    _require(bool(settings.filter.relations), "filter.relations must name at least one relation")
    _check_extend(settings.extend)
    _require(settings.clock.keep >= 1, "clock.keep must be at least 1")
    _require(settings.clock.hang_s > 0, "clock.hang_s must be more than 0")
    _require(settings.notices.source_down_s >= 0, "notices.source_down_s must be 0 or more")
    _require(settings.notices.timeout_s > 0, "notices.timeout_s must be more than 0")
    _check_times(settings)
    for number, proxy in enumerate(settings.proxy.urls, 1):
        _require_proxy(f"proxy number {number}", proxy, PROXY_SCHEMES)
    _check_transport(settings.transport)


def finite(text: str) -> float:
    """For flags: nan and inf are no numbers."""
    if not math.isfinite(number := float(text)):
        raise ValueError(text)
    return number


def check_relations(names: Iterable[str]) -> None:
    _require_known(
        "relation", names, ALL_RELATIONS, "filter.relations", "docs/dump.md lists them all"
    )


def _check_times(settings: Settings) -> None:
    names = ("clock.snapshot", "clock.sample", "clock.retry", "notices.progress_times")
    times = {name: attrgetter(name)(settings).strip() for name in names}
    changed = {name: each for name, each in times.items() if each not in ("", *USUAL_TIMES)}
    if changed:
        from .assist.schedule import parse  # it takes a scheduler with it

        for name, each in changed.items():
            parse(each, name)


def _check_extend(extend: ExtendSettings) -> None:
    _require(extend.ground in GROUNDS, f"extend.ground must be one of {', '.join(GROUNDS)}")
    for name in ("images", "sounds", "gifs", "enough", "patience_days", "sheets", "near_bits"):
        _require(getattr(extend, name) >= 0, f"extend.{name} must be 0 or more")
    for name in ("min_side", "min_seconds"):
        _require(getattr(extend, name) >= 0, f"extend.{name} must be 0 or more")
    for name in (each.name for each in fields(extend) if each.name.startswith("max_")):
        _require(getattr(extend, name) > 0, f"extend.{name} must be more than 0")
    for name in ("rest_s", "file_timeout_s", "image_max_bytes", "sound_max_bytes", "gif_max_bytes"):
        _require(getattr(extend, name) > 0, f"extend.{name} must be more than 0")
    _require_known("provider", extend.providers, PROVIDERS, "extend.providers")
    _require_known("provider", extend.servers, PROVIDERS, "extend.servers")
    _require_known("licence", extend.licences, LICENCES, "extend.licences")
    for name, server in extend.servers.items():
        _require(_is_address(server), f"extend.servers.{name} must be like http://host:port")


def _check_transport(transport: TransportSettings) -> None:
    for name in ("port", "volume_mb", "connections", "outbox_mb", "timeout_s"):
        _require(getattr(transport, name) > 0, f"transport.{name} must be more than 0")
    _require(transport.receipt_s >= 0, "transport.receipt_s must be 0 or more")
    _require(1 <= transport.every_hours <= 24, "transport.every_hours must be from 1 to 24")
    if not transport.host:
        has_more = any((transport.user, transport.folder, transport.key_file))
        _require(not has_more, "transport.host is missing: without it media stay here")
        return
    for name in ("user", "known_hosts", "folder"):
        _require(bool(getattr(transport, name)), f"transport.{name} is missing")
    has_key = transport.agent or transport.key_file is not None
    _require(has_key, "transport.key_file is missing: a private key, or agent = true")
    sentence = f"a password stands in {TRANSPORT_PROXY_VARIABLE}"
    _require("@" not in transport.proxy, sentence, "transport.proxy")
    if transport.proxy_url:
        _require_proxy("transport.proxy", transport.proxy_url, TUNNEL_SCHEMES)
    if transport.jump:
        _require(_is_login(transport.jump), "transport.jump must be like user@host:port")


def _is_login(text: str) -> bool:
    try:
        parts = urlsplit(f"ssh://{text}")
        return bool(parts.username and parts.hostname) and parts.port != 0 and not parts.path
    except ValueError:
        return False


def _is_address(url: str) -> bool:
    try:
        parts = urlsplit(url)
        return parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False


def _require_known(
    what: str, names: Iterable[str], known: Sequence[str], setting: str, otherwise: str = ""
) -> None:
    for name in names:
        if name not in known:
            sentence = unknown(name, name, known, otherwise).replace("setting", what, 1)
            raise WrongSetting(setting, sentence)


def _require_proxy(name: str, url: str, schemes: Sequence[str]) -> None:
    _require(
        _is_proxy(url, schemes),
        f"{name} must be like http://user:password@host:port and begin with one"
        f" of {', '.join(schemes)}; in a password / # ? [ are written %2F %23 %3F %5B",
    )


def _is_proxy(url: str, schemes: Sequence[str]) -> bool:
    """An @ behind the host is half a password, and would be shown as part of the address."""
    try:
        parts = urlsplit(url)
        whole = bool(parts.hostname) and "@" not in parts.path + parts.query + parts.fragment
        return parts.scheme in schemes and whole and parts.port != 0
    except ValueError:
        return False


def _require(holds: bool, sentence: str, name: str | None = None) -> None:
    """A sentence that begins with the setting's name needs to say it only once."""
    if not holds:
        raise WrongSetting(name or sentence.partition(" ")[0], sentence)
