"""Every setting and its default; one TOML file, flags on top, secrets from elsewhere.

Unknown keys are refused with the nearest right name. A secret comes from the environment or from a
file that only its owner can read, and is never part of a printed setting.
"""

from __future__ import annotations

import argparse
import difflib
import math
import os
import stat
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass, replace
from pathlib import Path
from typing import Any, TypeVar, cast, get_type_hints
from urllib.parse import urlsplit

from tools import uri
from tools.errors import UsageError
from tools.rules import ALL_RELATIONS, RELATIONS

DEFAULT_FILE = Path("sheaf.toml")
PROXIES_VARIABLE = "SHEAF_PROXIES"
NEO4J_VARIABLE = "SHEAF_NEO4J_PASSWORD"
PROXY_SCHEMES = ("http", "https", "socks5", "socks5h", "socks4", "socks4a")
PLACES = ("state", "graph", "media")
LEVELS = ("debug", "info", "warning", "error")


@dataclass(frozen=True, slots=True, kw_only=True)
class FilterSettings:
    languages: tuple[str, ...] = ("en",)
    min_weight: float = 1.0
    relations: tuple[str, ...] = RELATIONS
    senses: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpSettings:
    contact: str = ""
    connect_timeout_s: float = 10.0
    answer_timeout_s: float = 60.0
    max_bytes: int = 50_000_000
    tries: int = 4
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
    filter: FilterSettings = field(default_factory=FilterSettings)
    http: HttpSettings = field(default_factory=HttpSettings)
    proxy: ProxySettings = field(default_factory=ProxySettings)
    neo4j: Neo4jSettings = field(default_factory=Neo4jSettings)
    log: LogSettings = field(default_factory=LogSettings)

    @property
    def graph_url(self) -> str:
        return self.graph or self.embedded_graph

    @property
    def embedded_graph(self) -> str:
        return f"sqlite:{self.state / 'graph.db'}"

    @property
    def pools_file(self) -> Path:
        return self.state / "pools.db"


def load(path: Path | None, flags: Mapping[str, Any]) -> Settings:
    """Defaults, then the file (`sheaf.toml` if there is one), then the flags that were given."""
    table = read_toml(path)
    table |= {key: value for key, value in flags.items() if value is not None}
    settings = _build(Settings, table, "")
    settings = _with_password(_with_proxies(settings))
    _check(settings)
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


T = TypeVar("T")


def _build(cls: type[T], table: Mapping[str, Any], where: str) -> T:
    types = get_type_hints(cls)
    known = [each.name for each in fields(cls) if each.repr]  # type: ignore[arg-type]
    for key in table:
        if key not in known:
            raise UsageError(_unknown(where + key, key, known))
    return cls(**{key: _convert(types[key], value, where + key) for key, value in table.items()})


def _unknown(name: str, key: str, known: Sequence[str]) -> str:
    near = difflib.get_close_matches(key, known, n=1, cutoff=0.5)
    hint = (
        f"did you mean {name.removesuffix(key)}{near[0]}?" if near else f"known: {', '.join(known)}"
    )
    return f"unknown setting {name}; {hint}"


def _convert(wanted: Any, value: Any, name: str) -> Any:
    if is_dataclass(wanted):
        if not isinstance(value, Mapping):
            raise UsageError(f"{name} is a section: write [{name}] and its settings below it")
        return _build(cast(type[Any], wanted), value, f"{name}.")
    accept, kind = KINDS[wanted]
    result = accept(value)
    if result is None:
        raise UsageError(f"{name} must be {kind}, not {value!r}")
    return result


def _exactly(kind: type) -> Callable[[Any], Any]:
    """bool is an int in Python, but `workers = true` is a mistake."""
    return lambda value: value if type(value) is kind else None


def _number(value: Any) -> float | None:
    return float(value) if type(value) in (int, float) and math.isfinite(value) else None


def _path(value: Any) -> Path | None:
    return Path(value).expanduser() if isinstance(value, str | Path) and str(value) else None


def _texts(value: Any) -> tuple[str, ...] | None:
    is_list = isinstance(value, list | tuple) and all(isinstance(each, str) for each in value)
    return tuple(value) if is_list else None


def _texts_by_name(value: Any) -> dict[str, tuple[str, ...]] | None:
    table = {key: _texts(texts) for key, texts in value.items()} if isinstance(value, dict) else {}
    return None if None in table.values() or not isinstance(value, dict) else table  # type: ignore[return-value]


KINDS: dict[Any, tuple[Callable[[Any], Any], str]] = {
    str: (_exactly(str), "text"),
    bool: (_exactly(bool), "true or false"),
    int: (_exactly(int), "a whole number"),
    int | None: (_exactly(int), "a whole number"),
    float: (_number, "a number"),
    Path: (_path, "a path"),
    Path | None: (_path, "a path"),
    tuple[str, ...]: (_texts, "a list of texts"),
    Mapping[str, tuple[str, ...]]: (_texts_by_name, "a table of lists of texts"),
}


def _with_proxies(settings: Settings) -> Settings:
    """Proxies hold passwords: from the environment, or from a file nobody else can read."""
    text = os.environ.get(PROXIES_VARIABLE, "")
    if settings.proxy.file is not None:
        text += "\n" + read_secret(settings.proxy.file)
    urls = tuple(line.strip() for line in text.replace(",", "\n").splitlines() if line.strip())
    return replace(settings, proxy=replace(settings.proxy, urls=urls))


def _with_password(settings: Settings) -> Settings:
    password = os.environ.get(NEO4J_VARIABLE, "")
    if not password and settings.neo4j.password_file is not None:
        password = read_secret(settings.neo4j.password_file).strip("\r\n")
    return replace(settings, neo4j=replace(settings.neo4j, password=password))


def read_secret(path: Path) -> str:
    try:
        if path.stat().st_mode & (stat.S_IRWXG | stat.S_IRWXO):
            raise UsageError(f"{path} holds secrets but others can read it: chmod 600 {path}")
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror}") from error
    except UnicodeDecodeError:  # its text holds the secret
        raise UsageError(f"cannot read {path}: it is not UTF-8 text") from None


def _check(settings: Settings) -> None:
    for seed in settings.seeds:
        if not uri.is_concept(seed):
            raise UsageError(f"the seed {seed!r} is not a concept: write it like /c/en/dog")
    for name in ("fetch_workers", "extend_workers", "attempts"):
        _require(getattr(settings, name) >= 1, f"{name} must be at least 1")
    _require(settings.limit is None or settings.limit >= 1, "limit must be at least 1")
    _require(settings.depth is None or settings.depth >= 0, "depth must be 0 or more")
    _require(settings.stop_grace_s >= 0, "stop_grace_s must be 0 or more")
    for name in ("connect_timeout_s", "answer_timeout_s", "max_bytes", "tries"):
        _require(getattr(settings.http, name) > 0, f"http.{name} must be more than 0")
    _require(settings.log.level in LEVELS, f"log.level must be one of {', '.join(LEVELS)}")
    _require(bool(settings.filter.languages), "filter.languages must name at least one language")
    for relation in settings.filter.relations:
        if relation not in ALL_RELATIONS:
            raise UsageError(
                _unknown(relation, relation, ALL_RELATIONS).replace("setting", "relation")
            )
    for number, proxy in enumerate(settings.proxy.urls, 1):
        _require(
            _is_proxy(proxy),
            f"proxy number {number} must be like http://user:password@host:port and begin with one"
            f" of {', '.join(PROXY_SCHEMES)}; in a password / # ? [ are written %2F %23 %3F %5B",
        )


def _is_proxy(url: str) -> bool:
    """An @ behind the host is half a password, and would be shown as part of the address."""
    try:
        parts = urlsplit(url)
        whole = bool(parts.hostname) and "@" not in parts.path + parts.query + parts.fragment
        return parts.scheme in PROXY_SCHEMES and whole and parts.port != 0
    except ValueError:
        return False


def _require(holds: bool, sentence: str) -> None:
    if not holds:
        raise UsageError(sentence)
