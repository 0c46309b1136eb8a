"""What jobs have in common that have a state folder for each name, and tables for their rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ..engine.description import Description
from ..errors import UsageError

if TYPE_CHECKING:
    from ..settings import Settings
    from ..tables.listing import Listing


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

    def stored(self, settings: Settings) -> Mapping[str, int] | None:
        from .named_tables import counts_of

        counts = counts_of(settings, self._password_file(settings))
        return None if counts is None else {name: each.rows for name, each in counts.items()}

    def table_names(self, settings: Settings) -> Sequence[str]:
        from .named_tables import names_in

        return names_in(settings, self._password_file(settings))

    def listing(self, settings: Settings, table: str, after: str, most: int) -> Listing | None:
        from .named_tables import listing_in

        return listing_in(settings, self._password_file(settings), table, after, most)

    def _password_file(self, settings: Settings) -> Path | None:
        file: Path | None = getattr(settings, self.name).password_file
        return file

    def shipping(self, settings: Settings) -> object:
        raise UsageError(f"the job {self.name} has nothing to ship: its rows are in tables")
