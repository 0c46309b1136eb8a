"""What gets media, who is asked for them, and how long is waited for whom."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from ..base.bounds import bounded, is_web_address, require, require_known, require_one_of
from ..base.credentials import keys
from ..media.settings import MediaSettings
from .names import PROVIDERS, TAKE_KEY, USUAL

GROUNDS = ("concepts", "relations", "both")


@dataclass(frozen=True, slots=True, kw_only=True)
class ExtendSettings(MediaSettings):
    ground: str = "both"
    enough: int = bounded(1, least=0)
    patience_days: float = bounded(3.0, least=0, most=3660)
    providers: tuple[str, ...] = USUAL
    servers: Mapping[str, str] = field(default_factory=dict)
    keys_file: Path | None = None
    keys: Mapping[str, str] = field(default_factory=dict, repr=False)  # not from TOML
    sheets: int = bounded(24, least=0, most=10_000)

    def with_secrets(self) -> ExtendSettings:
        return replace(self, keys=keys(TAKE_KEY, self.keys_file))

    def check(self, where: str) -> None:
        MediaSettings.check(self, where)  # super() does not find a class remade for its slots
        require_one_of(f"{where}ground", self.ground, GROUNDS)
        known = tuple(PROVIDERS)
        require_known("provider", self.providers, known, f"{where}providers")
        require_known("provider", self.servers, known, f"{where}servers")
        for name, server in self.servers.items():
            sentence = f"{where}servers.{name} must be like http://host:port"
            require(is_web_address(server), sentence)
