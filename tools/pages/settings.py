"""What is crawled, how politely, and what is kept of it.

Every setting can be given by the environment too, as SHEAF_PAGES_ with its name in capitals.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from ..base.bounds import DAY_S, YEAR_S, bounded, require, require_one_of
from ..base.text import seconds_of
from ..documents.scope_kinds import KINDS as SCOPES

VARIABLE = "SHEAF_PAGES_"
ROBOTS = ("obey", "ignore")


@dataclass(frozen=True, slots=True, kw_only=True)
class PagesSettings:
    state: Path = Path("state-pages")
    seeds: tuple[str, ...] = ()
    seed_file: Path | None = None
    depth: int = bounded(3, least=0, most=1_000_000)
    limit: int | None = bounded(None, least=1)
    limit_per_host: int | None = bounded(None, least=1)
    seconds: float | None = bounded(None, above=0, most=10 * YEAR_S)
    # who works, and how much may wait between two of them
    download_workers: int = bounded(8, least=1, most=1000)
    analyse_workers: int = bounded(2, least=1, most=100)
    control_workers: int = bounded(1, least=1, most=100)
    page_queue: int = bounded(64, least=1, most=10_000)
    parsed_queue: int = bounded(64, least=1, most=10_000)
    # patience
    connect_timeout_s: float = bounded(5.0, above=0, most=DAY_S)
    timeout_s: float = bounded(30.0, above=0, most=DAY_S)
    attempts: int = bounded(3, least=1, most=1000)
    task_timeout_s: float = bounded(300.0, above=0, most=YEAR_S)
    scan_s: float = bounded(300.0, above=0, most=DAY_S)
    host_patience_h: float = bounded(6.0, least=0, most=24 * 366)
    # places
    database: str = "sqlite:pages.db"
    password_file: Path | None = None
    archive: Path = Path("archive")
    archive_file_mb: float = bounded(1000.0, above=0, most=100_000)
    # which pages
    scope: str = "host"
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    drop_parameters: tuple[str, ...] = ()
    robots: str = "obey"
    nofollow: bool = True
    sitemaps: bool = True
    # politeness
    delay_s: float = bounded(1.0, least=0, most=DAY_S)
    delay_factor: float = bounded(1.0, least=0, most=1000)
    per_host: int = bounded(1, least=1, most=100)
    crawl_delay_cap_s: float = bounded(60.0, least=0, most=DAY_S)
    # what is kept
    max_bytes: int = bounded(50_000_000, least=1, most=10**10)
    analyse_max_bytes: int = bounded(10_000_000, least=1, most=10**9)
    types: tuple[str, ...] = ()
    words: bool = True
    paths_kept: int = bounded(8, least=1, most=1000)
    refetch_after: str = ""
    extract: str = ""
    headers_file: Path | None = None
    cookies: Path | None = None

    @property
    def refetch_after_s(self) -> float | None:
        return seconds_of(self.refetch_after) if self.refetch_after else None

    def check(self, where: str) -> None:
        require_one_of(f"{where}scope", self.scope, SCOPES)
        require_one_of(f"{where}robots", self.robots, ROBOTS)
        after, name = self.refetch_after, f"{where}refetch_after"
        require(not after or seconds_of(after) is not None, f"{name} must be like 30m, 24h or 7d")
        is_list = self.scope != "list" or bool(self.include)
        require(is_list, f"{where}scope list needs {where}include: which addresses are meant")
