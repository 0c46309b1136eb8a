"""The rooms' settings put together; one TOML file, flags on top, secrets from elsewhere.

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

from .assist.settings import ClockSettings, NoticeSettings, ServeSettings
from .base.bounds import DAY_S, bounded, check
from .base.config import build
from .base.credentials import with_secrets
from .base.environment import from_environment
from .base.origin import located
from .base.processor import cores
from .base.resident import memory_here
from .base.settings import LogSettings
from .cluster.settings import ClusterSettings
from .conceptnet.settings import LIMITS, SEEDS, SOURCE, DumpSettings, FilterSettings
from .errors import UsageError, WrongSetting
from .graphs.settings import Neo4jSettings
from .layers.settings import LayersSettings, check_databases
from .network.settings import HttpSettings, ProxySettings
from .pages.settings import VARIABLE as PAGES_VARIABLE
from .pages.settings import PagesSettings
from .providers.settings import ExtendSettings
from .shipping.settings import TransportSettings
from .structure.settings import StructureSettings

DEFAULT_FILE = Path("sheaf.toml")
FILE_WORKERS = 200  # a file answers at once: the more finish together, the fewer transactions
FOR_PROCESSES = 0.75  # of the memory of this computer, all together
LEAST_MEMORY = 256_000_000
BYTES_A_PIXEL = 15  # of a picture that is decoded, at most
PLACES = ("state", "graph", "media")


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    seeds: tuple[str, ...] = SEEDS
    source: str = SOURCE
    graph: str = ""  # empty: sqlite:<state>/graph.db
    media: Path = Path("m")
    state: Path = Path("state")
    limit: int | None = bounded(None, least=1)
    depth: int | None = bounded(None, least=0)
    fetch_workers: int = bounded(8, least=1, most=1000)
    extend_workers: int = bounded(5, least=1, most=1000)
    processes: int | None = bounded(None, least=0, most=1000)  # for media; None: one for each core
    process_memory_mb: float | None = bounded(None, least=128, most=10**9)  # None: by this computer
    attempts: int = bounded(5, least=1, most=1000)
    stop_grace_s: float = bounded(30.0, least=0, most=DAY_S)
    reserve_bytes: int = bounded(1_000_000_000, least=0, most=10**18)
    filter: FilterSettings = field(default_factory=FilterSettings)
    dump: DumpSettings = field(default_factory=DumpSettings)
    extend: ExtendSettings = field(default_factory=ExtendSettings)
    http: HttpSettings = field(default_factory=lambda: HttpSettings(limits=dict(LIMITS)))
    proxy: ProxySettings = field(default_factory=ProxySettings)
    neo4j: Neo4jSettings = field(default_factory=Neo4jSettings)
    clock: ClockSettings = field(default_factory=ClockSettings)
    assist: ServeSettings = field(default_factory=ServeSettings)
    notices: NoticeSettings = field(default_factory=NoticeSettings)
    transport: TransportSettings = field(default_factory=TransportSettings)
    pages: PagesSettings = field(default_factory=PagesSettings)
    layers: LayersSettings = field(default_factory=LayersSettings)
    structure: StructureSettings = field(default_factory=StructureSettings)
    cluster: ClusterSettings = field(default_factory=ClusterSettings)
    databases: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    log: LogSettings = field(default_factory=LogSettings)

    def check(self, where: str) -> None:
        check_databases(self.databases, f"{where}databases")

    @property
    def source_file(self) -> Path | None:
        """The source, if it is a file and not a server."""
        return None if "://" in self.source else Path(self.source).expanduser()

    @property
    def worker_processes(self) -> int:
        """How many work on media beside this one; 0: threads of this one do."""
        wanted = cores() if self.processes is None else self.processes
        return min(wanted, self.extend_workers)

    @property
    def process_memory(self) -> int:
        """Bytes that each of those may have."""
        if self.process_memory_mb is not None:
            return int(self.process_memory_mb * 1e6)
        number = max(1, self.worker_processes)
        share = FOR_PROCESSES * memory_here() / number
        decoding = BYTES_A_PIXEL * self.extend.max_pixels * -(-self.extend_workers // number)
        return max(int(share), LEAST_MEMORY + decoding)

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
        if of_pages := from_environment(PagesSettings, PAGES_VARIABLE):
            given["pages"] = {**table.get("pages", {}), **of_pages}
        settings = build(Settings(), given)
        if "fetch_workers" not in given:
            settings = replace(settings, fetch_workers=usual_for(settings).fetch_workers)
        settings = with_secrets(settings)
        check(settings)
    except WrongSetting as error:
        raise located(error, path or DEFAULT_FILE, flags) if table else error from None
    return settings


def usual_for(settings: Settings) -> Settings:
    """The defaults of whoever asks the same source."""
    usual = Settings()
    is_server = settings.source_file is None
    return usual if is_server else replace(usual, fetch_workers=FILE_WORKERS)


def narrowed(
    settings: Settings,
    languages: tuple[str, ...] | None = None,
    relations: tuple[str, ...] | None = None,
    plus: tuple[str, ...] | None = None,
    minus: tuple[str, ...] | None = None,
    min_weight: float | None = None,
) -> Settings:
    """The same with another filter, as far as one is given."""
    chosen = settings.filter.narrowed(languages, relations, plus, minus, min_weight)
    settings = replace(settings, filter=chosen)
    check(settings)
    return settings


def with_metrics(settings: Settings, port: int) -> Settings:
    settings = replace(settings, assist=replace(settings.assist, metrics=port))
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
