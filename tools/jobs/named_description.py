"""What jobs have in common that have a state folder for each name, and tables for their rows."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ..engine.description import Description
from ..errors import UsageError

if TYPE_CHECKING:
    from ..settings import Settings


class NamedDescription(Description):
    store_title = "tables"

    def folder(self, settings: Settings) -> Path:
        """Of all its states: a setting in the job's own part."""
        return Path(getattr(settings, self.name).state)

    def home(self, settings: Settings) -> Path:
        """The only one there is; else whoever means one says so."""
        homes = self.homes(settings)
        return homes[0] if len(homes) == 1 else self.folder(settings)

    def homes(self, settings: Settings) -> Sequence[Path]:
        pools = settings.pools_file.name
        return sorted(each.parent for each in self.folder(settings).glob(f"*/{pools}"))

    def shipping(self, settings: Settings) -> object:
        raise UsageError(f"the job {self.name} has nothing to ship: its rows are in tables")
