"""A structure run in this process, a round at a time, and what it left behind."""

from __future__ import annotations

import time
from argparse import Namespace
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from threading import Event
from typing import Any

from tests.support.register import TRUTH, as_truth
from tools.engine.harvest import Harvest
from tools.jobs.structure import StructureJob, opened
from tools.jobs.structure_declared import export_in, place_in, with_structure
from tools.journal.reader import Look, failed, look
from tools.settings import Settings
from tools.structure.settings import StructureSettings

FLAGS: dict[str, Any] = {
    **{"watch": False, "only_stage": None, "again": False, "sources": None, "to": None},
    **{"archive": (), "resume": None, "fresh": False, "folder": None},
}


class Register:
    """A structure of a folder, its state beside it; `more` are settings of the job."""

    def __init__(self, structures: Path, name: str = "register", **more: Any) -> None:
        self.structures = structures
        self.name = name
        self.state = structures.parent / "state" / name
        self.more = more
        self.to: str | None = None

    def settings(self, **flags: Any) -> Settings:
        self.state.mkdir(parents=True, exist_ok=True)
        usual = StructureSettings(folder=self.structures, workers=2, **self.more)
        given = Namespace(**{**FLAGS, "to": self.to, **flags}, name=self.name, state=self.state)
        return with_structure(Settings(structure=usual, state=self.state), given)

    def round(self, then: Callable[[Harvest], None] | None = None, **flags: Any) -> StructureJob:
        """One, from its beginning to its end; `then` is called often meanwhile."""
        settings, stop = self.settings(**flags), Event()
        job = opened(settings, Namespace(**{**FLAGS, "to": self.to, **flags}), stop)
        with closing(job), closing(Harvest(job, settings.pools_file, stop, 5, 5.0)) as run:
            job.open(run)
            ticks = [] if then is None else [lambda: then(run)]
            run.run(*ticks)
            job.finish(run)
            job.moment = job.next_round(run)  # type: ignore[attr-defined]
        return job

    # --- what there is now -------------------------------------------------------------------

    def rows(self, table: str, columns: str = "*") -> list[tuple[Any, ...]]:
        settings = self.settings()
        export = export_in(settings)
        assert export is not None
        with closing(place_in(settings, export).opened()) as target:
            return sorted(tuple(row) for row in target.select(f"SELECT {columns} FROM {table}"))

    def truth(self) -> dict[str, set[tuple[Any, ...]]]:
        """All tables, without the columns that are ours, to be compared with TRUTH."""
        settings = self.settings()
        export = export_in(settings)
        assert export is not None
        found: dict[str, set[tuple[Any, ...]]] = {}
        with closing(place_in(settings, export).opened()) as target:
            for name, table in export.tables.items():
                columns = ", ".join(table.columns)
                rows = [tuple(row) for row in target.select(f"SELECT {columns} FROM {name}")]
                assert len(set(rows)) == len(rows), f"a row of {name} is there twice"
                found[name] = as_truth(rows)
        return found

    def is_true(self) -> bool:
        assert self.truth() == TRUTH
        return True

    @property
    def pools_file(self) -> Path:
        return self.state / "pools.db"

    @property
    def seen(self) -> Look:
        return look(self.pools_file)

    @property
    def failures(self) -> dict[str, str]:
        return {uri: reason for uri, reason, _ in failed(self.pools_file)}

    def exports(self) -> int:
        """How many were done so far."""
        return self.seen.tally.get("exported", 0)

    def write(self, name: str, text: str) -> None:
        """A file of the structure, as if it was there for some time: its version is believed."""
        path = self.structures / name
        path.write_text(text, encoding="utf-8")
        self.age(name)

    def age(self, name: str) -> None:
        import os

        Register._clock += 1
        moment = time.time() - 3600 + Register._clock
        os.utime(self.structures / name, (moment, moment))

    _clock = 0

    def edit(self, name: str, old: str, new: str) -> None:
        text = (self.structures / name).read_text(encoding="utf-8")
        assert old in text
        self.write(name, text.replace(old, new))
