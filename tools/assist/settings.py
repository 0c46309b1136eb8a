"""When a harvest looks after itself, and who gets notice."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Protocol

from ..base.bounds import DAY_S, YEAR_S, bounded
from ..base.credentials import secret_lines
from ..shipping.settings import TransportSettings

NOTICES_VARIABLE = "SHEAF_NOTICES"
USUAL_TIMES = ("0 * * * *", "* * * * *")


@dataclass(frozen=True, slots=True, kw_only=True)
class ClockSettings:
    """Minute, hour, day, month and weekday as in a crontab, in UTC."""

    snapshot: str = "0 * * * *"
    sample: str = "* * * * *"
    retry: str = "* * * * *"
    keep: int = bounded(24, least=1, most=100_000)
    hang_s: float = bounded(900.0, above=0, most=YEAR_S)
    task_timeout_s: float | None = bounded(None, above=0, most=YEAR_S)
    scan_s: float = bounded(60.0, above=0, most=DAY_S)

    def check(self, where: str) -> None:
        for name in ("snapshot", "sample", "retry"):
            require_times(getattr(self, name), where + name)


@dataclass(frozen=True, slots=True, kw_only=True)
class NoticeSettings:
    """Who gets notice, and of what."""

    file: Path | None = None
    urls: tuple[str, ...] = field(default=(), repr=False)  # hold passwords; not from TOML
    progress: bool = True
    transport: bool = True
    source: bool = True
    disk: bool = True
    process: bool = True
    ended: bool = True
    progress_times: str = "0 * * * *"
    source_down_s: float = bounded(1800.0, least=0, most=YEAR_S)
    timeout_s: float = bounded(30.0, above=0, most=DAY_S)

    def with_secrets(self) -> NoticeSettings:
        """In the environment too they stand on lines: an address may hold a comma."""
        lines = secret_lines(NOTICES_VARIABLE, self.file)
        return replace(self, urls=tuple(line for line in lines if not line.startswith("#")))

    def check(self, where: str) -> None:
        require_times(self.progress_times, f"{where}progress_times")


@dataclass(frozen=True, slots=True, kw_only=True)
class ServeSettings:
    """Where others look how the harvest does; a port that is not set is not opened."""

    metrics: int | None = bounded(None, least=0, most=65_535)
    metrics_address: str = "127.0.0.1"


class AssistSettings(Protocol):
    """What the assistant needs to know of all settings."""

    @property
    def state(self) -> Path: ...
    @property
    def pools_file(self) -> Path: ...
    @property
    def reserve_bytes(self) -> int: ...
    @property
    def clock(self) -> ClockSettings: ...
    @property
    def notices(self) -> NoticeSettings: ...
    @property
    def assist(self) -> ServeSettings: ...
    @property
    def transport(self) -> TransportSettings: ...


def require_times(times: str, name: str) -> None:
    """Such as a crontab has, or none."""
    if times.strip() in ("", *USUAL_TIMES):
        return
    from ..base.crontab import parse  # it takes a scheduler with it

    parse(times.strip(), name)
