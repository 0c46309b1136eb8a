"""Every setting and its default; one TOML file, flags on top, secrets from elsewhere.

Unknown keys are refused with the nearest right name. A secret comes from the environment or from a
file that only its owner can read, and is never part of a printed setting.
"""

from __future__ import annotations

import argparse
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from .base import credentials as secret
from .base.config import build
from .base.origin import located
from .bounds import PROVIDERS, check, check_relations
from .conceptnet.rules import ALL_RELATIONS, RELATIONS, spelled
from .errors import UsageError, WrongSetting

DEFAULT_FILE = Path("sheaf.toml")
FILE_WORKERS = 200  # a file answers at once: the more finish together, the fewer transactions
PLACES = ("state", "graph", "media")
KEYED = ("openverse", "freesound", "flickr", "pexels", "giphy")
"""Providers that take a key; all but the first need one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FilterSettings:
    languages: tuple[str, ...] = ("en",)
    min_weight: float = 1.0
    relations: tuple[str, ...] = RELATIONS
    senses: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class DumpSettings:
    """For a source that is an assertions file."""

    index: Path | None = None  # unset: beside the file
    max_malformed: int = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class ExtendSettings:
    """What gets media, from where, and what a good file is."""

    ground: str = "both"
    images: int = 5
    sounds: int = 5
    gifs: int = 5
    enough: int = 1
    patience_days: float = 3.0
    providers: tuple[str, ...] = PROVIDERS[:-1]
    servers: Mapping[str, str] = field(default_factory=dict)
    licences: tuple[str, ...] = ("cc0", "pdm", "pd", "by", "by-sa", "pexels")
    keys_file: Path | None = None
    keys: Mapping[str, str] = field(default_factory=dict, repr=False)  # not from TOML
    rest_s: float = 30.0
    file_timeout_s: float = 60.0
    image_max_bytes: int = 20_000_000
    sound_max_bytes: int = 3_145_728
    gif_max_bytes: int = 20_000_000
    min_side: int = 100
    max_pixels: int = 16_000_000
    max_frames: int = 1000
    max_frame_pixels: int = 100_000_000
    min_seconds: float = 0.2
    max_seconds: float = 300.0
    near_bits: int = 6
    refuse: tuple[str, ...] = ("noai", "noimageai", "noindex", "noimageindex", "noml")
    sheets: int = 24

    @property
    def wanted(self) -> dict[str, int]:
        """How many files of each kind."""
        return {"image": self.images, "audio": self.sounds, "visual": self.gifs}

    @property
    def is_wanted(self) -> bool:
        return any(self.wanted.values())


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpSettings:
    contact: str = ""
    connect_timeout_s: float = 10.0
    answer_timeout_s: float = 60.0
    max_bytes: int = 8_000_000
    tries: int = 4
    private_hosts: tuple[str, ...] = ()
    limits: Mapping[str, tuple[str, ...]] = field(
        default_factory=lambda: {"api.conceptnet.io": ("120/minute", "3600/hour")}
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class ProxySettings:
    file: Path | None = None
    urls: tuple[str, ...] = field(default=(), repr=False)  # may hold passwords; not from TOML


@dataclass(frozen=True, slots=True, kw_only=True)
class Neo4jSettings:
    password_file: Path | None = None
    password: str = field(default="", repr=False)  # not from TOML


@dataclass(frozen=True, slots=True, kw_only=True)
class ClockSettings:
    """When the assist works: minute, hour, day, month and weekday as in a crontab, in UTC."""

    snapshot: str = "0 * * * *"
    sample: str = "* * * * *"
    retry: str = "* * * * *"
    keep: int = 24
    hang_s: float = 900.0


@dataclass(frozen=True, slots=True, kw_only=True)
class NoticeSettings:
    """Who is told, and of what."""

    file: Path | None = None
    urls: tuple[str, ...] = field(default=(), repr=False)  # hold passwords; not from TOML
    progress: bool = True
    transport: bool = True
    source: bool = True
    disk: bool = True
    ended: bool = True
    progress_times: str = "0 * * * *"
    source_down_s: float = 1800.0
    timeout_s: float = 30.0


@dataclass(frozen=True, slots=True, kw_only=True)
class TransportSettings:
    """Where media go every few hours. Without a host they stay here."""

    host: str = ""
    port: int = 22
    user: str = ""
    key_file: Path | None = None
    agent: bool = False
    known_hosts: Path | None = None
    folder: str = ""
    volume_mb: float = 500.0
    every_hours: int = 3
    proxy: str = ""
    jump: str = ""
    connections: int = 2
    outbox_mb: float = 10_000.0
    timeout_s: float = 30.0
    receipt_s: float = 180.0
    secret_file: Path | None = None
    passphrase: str = field(default="", repr=False)  # not from TOML, like the two below
    proxy_url: str = field(default="", repr=False)
    secret: str = field(default="", repr=False)

    @property
    def times(self) -> str:
        """On the hour, as in a crontab."""
        return f"0 */{self.every_hours} * * *" if self.every_hours < 24 else "0 0 * * *"


@dataclass(frozen=True, slots=True, kw_only=True)
class LogSettings:
    level: str = "info"
    json: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    seeds: tuple[str, ...] = ("/c/en/pet",)
    source: str = "http://api.conceptnet.io"
    graph: str = ""  # empty: sqlite:<state>/graph.db
    media: Path = Path("m")
    state: Path = Path("state")
    limit: int | None = None
    depth: int | None = None
    fetch_workers: int = 8
    extend_workers: int = 5
    attempts: int = 5
    stop_grace_s: float = 30.0
    reserve_bytes: int = 1_000_000_000
    filter: FilterSettings = field(default_factory=FilterSettings)
    dump: DumpSettings = field(default_factory=DumpSettings)
    extend: ExtendSettings = field(default_factory=ExtendSettings)
    http: HttpSettings = field(default_factory=HttpSettings)
    proxy: ProxySettings = field(default_factory=ProxySettings)
    neo4j: Neo4jSettings = field(default_factory=Neo4jSettings)
    clock: ClockSettings = field(default_factory=ClockSettings)
    notices: NoticeSettings = field(default_factory=NoticeSettings)
    transport: TransportSettings = field(default_factory=TransportSettings)
    log: LogSettings = field(default_factory=LogSettings)

    @property
    def source_file(self) -> Path | None:
        """The source, if it is a file and not a server."""
        return None if "://" in self.source else Path(self.source).expanduser()

    @property
    def graph_url(self) -> str:
        return self.graph or self.embedded_graph

    @property
    def embedded_graph(self) -> str:
        return f"sqlite:{self.state / 'graph.db'}"

    @property
    def pools_file(self) -> Path:
        return self.state / "pools.db"

    @property
    def sheets(self) -> Path:
        return self.state / "sheets"


def load(path: Path | None, flags: Mapping[str, Any]) -> Settings:
    """Defaults, then the file (`sheaf.toml` if there is one), then the flags that were given."""
    table = read_toml(path)
    try:
        given = table | {key: value for key, value in flags.items() if value is not None}
        settings = build(Settings, given)
        if settings.source_file is not None and "fetch_workers" not in given:
            settings = replace(settings, fetch_workers=FILE_WORKERS)
        settings = _with_secrets(settings)
        check(settings)
    except WrongSetting as error:
        raise located(error, path or DEFAULT_FILE, flags) if table else error from None
    return settings


def narrowed(
    settings: Settings,
    languages: tuple[str, ...] | None = None,
    relations: tuple[str, ...] | None = None,
    plus: tuple[str, ...] | None = None,
    minus: tuple[str, ...] | None = None,
    min_weight: float | None = None,
) -> Settings:
    """The same with another filter, as far as one is given."""
    chosen = settings.filter
    names = chosen.relations if relations is None else spelled(relations)
    names = ALL_RELATIONS if names in (("all",), ("All",), ("ALL",)) else names
    more, fewer = spelled(plus or ()), spelled(minus or ())
    check_relations([*more, *fewer])
    names = tuple(each for each in dict.fromkeys([*names, *more]) if each not in fewer)
    if languages is not None:
        languages = tuple(each.lower() for each in languages)
    chosen = replace(
        chosen,
        languages=chosen.languages if languages is None else languages,
        relations=names,
        min_weight=chosen.min_weight if min_weight is None else min_weight,
    )
    settings = replace(settings, filter=chosen)
    check(settings)
    return settings


def add_place_flags(to: argparse.ArgumentParser) -> None:
    """The flags that main.py, history.py and clear.py share."""
    to.add_argument("--config", type=Path, metavar="FILE", help="settings (default: sheaf.toml)")
    to.add_argument("--state", metavar="DIR", help="where the harvest keeps its record (state)")
    to.add_argument(
        "--graph",
        metavar="URL",
        help="sqlite:PATH (default: graph.db in the state) or neo4j://user@host:7687/database",
    )
    to.add_argument("--media", metavar="DIR", help="where media files go (m)")


def load_places(arguments: argparse.Namespace) -> Settings:
    return load(arguments.config, {key: getattr(arguments, key) for key in PLACES})


def read_toml(path: Path | None) -> dict[str, Any]:
    if path is None and not DEFAULT_FILE.exists():
        return {}
    file = path or DEFAULT_FILE
    try:
        return tomllib.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise UsageError(f"cannot read the settings file {file}: {error.strerror}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UsageError(f"{file} is not valid TOML: {error}") from error


def _with_secrets(settings: Settings) -> Settings:
    proxy, neo4j, extend = settings.proxy, settings.neo4j, settings.extend
    notices, transport = settings.notices, settings.transport
    return replace(
        settings,
        proxy=replace(proxy, urls=secret.proxies(proxy.file)),
        neo4j=replace(neo4j, password=secret.neo4j_password(neo4j.password_file)),
        extend=replace(extend, keys=secret.keys(KEYED, extend.keys_file)),
        notices=replace(notices, urls=secret.notices(notices.file)),
        transport=replace(
            transport,
            passphrase=secret.passphrase(),
            proxy_url=secret.transport_proxy() or transport.proxy,
            secret=secret.transport_secret(transport.secret_file),
        ),
    )
