"""Sources that are states of other jobs."""

from __future__ import annotations

from collections.abc import Mapping

from ..settings import Settings
from ..structure.sources.open import Opener


def others_of(settings: Settings) -> Mapping[str, Opener]:
    return {}
