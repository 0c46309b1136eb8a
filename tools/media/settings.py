"""How many files are wanted, what a good one is, and under which licences it is kept."""

from __future__ import annotations

from dataclasses import dataclass

from ..add import KINDS
from ..base.bounds import DAY_S, bounded, require_known

LICENCES = (
    *("cc0", "pdm", "pd", "by", "by-sa", "by-nc", "by-nd", "by-nc-sa", "by-nc-nd", "pexels"),
)
LARGEST_FILE = 10**10  # bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class MediaSettings:
    images: int = bounded(5, least=0, most=1000)
    sounds: int = bounded(5, least=0, most=1000)
    gifs: int = bounded(5, least=0, most=1000)
    licences: tuple[str, ...] = ("cc0", "pdm", "pd", "by", "by-sa", "pexels")
    rest_s: float = bounded(30.0, above=0, most=DAY_S)
    file_timeout_s: float = bounded(60.0, above=0, most=DAY_S)
    image_max_bytes: int = bounded(20_000_000, above=0, most=LARGEST_FILE)
    sound_max_bytes: int = bounded(3_145_728, above=0, most=LARGEST_FILE)
    gif_max_bytes: int = bounded(20_000_000, above=0, most=LARGEST_FILE)
    min_side: int = bounded(100, least=0)
    max_pixels: int = bounded(16_000_000, above=0)
    max_frames: int = bounded(1000, above=0)
    max_frame_pixels: int = bounded(100_000_000, above=0)
    min_seconds: float = bounded(0.2, least=0)
    max_seconds: float = bounded(300.0, above=0)
    near_bits: int = bounded(6, least=0, most=64)
    refuse: tuple[str, ...] = ("noai", "noimageai", "noindex", "noimageindex", "noml")

    @property
    def wanted(self) -> dict[str, int]:
        """How many files of each kind."""
        return {kind: getattr(self, f"{word}s") for kind, word in KINDS.items()}

    @property
    def is_wanted(self) -> bool:
        return any(self.wanted.values())

    def check(self, where: str) -> None:
        require_known("licence", self.licences, LICENCES, f"{where}licences")
