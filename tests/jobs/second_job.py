"""A second job, tiny and real: it walks a folder of text files, from one to those it names.

Its stage `read` counts the words of a file, its stage `sum` adds them up by the first letter of the
file's name, both in a small SQLite file of its own. Nothing outside the tests knows it.
"""

from __future__ import annotations

import sqlite3
from argparse import ArgumentParser, Namespace
from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path
from threading import Event
from typing import NamedTuple

from tools.engine.committer import Store
from tools.engine.description import Description, Metric, Series
from tools.engine.job import Counted, Job
from tools.engine.panel import Panel
from tools.engine.stage import Done, Found, Stage, Task
from tools.errors import GiveUp, UsageError
from tools.settings import Settings

READ, SUM = Stage("read", 2), Stage("sum", 1)
FILE = "words.db"


class Read(NamedTuple):
    name: str
    words: int


class Summed(NamedTuple):
    letter: str


class Totals:
    """Its store: the same records twice are the same totals."""

    def __init__(self, path: Path) -> None:
        self._db = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
        self._db.execute("CREATE TABLE IF NOT EXISTS file (name PRIMARY KEY, words)")
        self._db.execute("CREATE TABLE IF NOT EXISTS total (letter PRIMARY KEY, words)")
        self.written = 0

    def __call__(self, records: Sequence[Read | Summed]) -> None:
        self._db.execute("BEGIN IMMEDIATE")
        for each in records:
            if isinstance(each, Read):
                self._db.execute("INSERT OR REPLACE INTO file VALUES (?, ?)", each)
                self.written += 1
            else:
                self._db.execute(
                    "INSERT OR REPLACE INTO total SELECT ?1, sum(words) FROM file "
                    "WHERE substr(name, 1, 1) = ?1",
                    each,
                )
        self._db.execute("COMMIT")

    def close(self) -> None:
        self._db.close()


class WordsJob(Job):
    def __init__(self, settings: Settings, arguments: Namespace, stop: Event) -> None:
        self.description = WORDS
        self._folder, self._pause_s = arguments.folder, arguments.pause_s
        self._stop, self._state = stop, settings.state
        self._totals = Totals(settings.state / FILE)
        self.stages = (READ, SUM)
        self.seeds = (Found("read", [arguments.begin]),)
        self.workers = {"read": self.read_file, "sum": self.sum_up}

    @property
    def store(self) -> Store:
        return self._totals

    def identity(self) -> dict[str, str]:
        return {**super().identity(), "world": str(self._folder)}

    def read_file(self, task: Task) -> Done:
        try:
            words = (self._folder / task.uri).read_text(encoding="utf-8").split()
        except FileNotFoundError:
            raise GiveUp("there is no such file") from None
        self._stop.wait(self._pause_s)
        named = [word for word in words if word.endswith(".txt")]
        record = Read(task.uri, len(words))
        return Done("to_sum", [Found("read", named)], record, {"words": len(words)})

    def sum_up(self, task: Task) -> Done:
        return Done("finished", records=Summed(task.uri[0]))

    def close(self) -> None:
        self._totals.close()

    def counted(self) -> Sequence[Counted]:
        return (Counted("files", self._totals.written, "written"),)

    def metrics(self) -> Mapping[str, Metric]:
        return {
            "words_written": Metric("Files whose words are counted", self._totals.written),
            "words_by_letter_total": Metric(
                "Words", {letter: n for letter, n in totals_in(self._state / FILE)}, "letter"
            ),
        }

    def summary(self) -> Sequence[Panel]:
        return (Panel("Words by letter", "table", totals_in(self._state / FILE)),)

    def places(self) -> Mapping[str, str | Path]:
        return {"totals": self._state / FILE}


class WordsDescription(Description):
    name = "words"
    examples = ("python main.py words --folder texts    from its file start.txt on",)
    stage_titles = {"read": "files read", "sum": "files summed"}  # noqa: RUF012
    series = (Series("words", "words"),)
    store_title = "totals"

    def noun(self, facts: Mapping[str, str]) -> str:
        return "files"

    def panels(self, counts: Mapping[str, int]) -> Sequence[Panel]:
        words = counts.get("words", 0)
        return (
            Panel("Reading", "table", [("words", words)]),
            Panel(
                "Work", "bars", [(each, counts.get(f"done_{each}", 0)) for each in ["read", "sum"]]
            ),
            Panel("Words counted", "curve", [("words", words)]),
        )

    def stored(self, settings: Settings) -> Mapping[str, int] | None:
        path = settings.state / FILE
        return {str(letter): int(n) for letter, n in totals_in(path)} if path.exists() else None

    def arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--folder", type=Path, metavar="DIR", help="where the texts are")
        parser.add_argument("--begin", default="start.txt", metavar="NAME", help="with which file")
        parser.add_argument("--pause-s", type=float, default=0.0, metavar="S", help="a file takes")

    def prepared(self, settings: Settings, arguments: Namespace) -> Settings:
        if arguments.folder is None or not arguments.folder.is_dir():
            raise UsageError("words needs a folder of texts: --folder DIR")
        return settings

    def stages(self, settings: Settings) -> Sequence[Stage]:
        return (READ, SUM)

    def opened(self, settings: Settings, arguments: Namespace, stop: Event) -> Job:
        return WordsJob(settings, arguments, stop)


WORDS = WordsDescription()


def totals_in(path: Path) -> list[tuple[str, int]]:
    # To write, so that what one that was killed left half-done can be taken back.
    with closing(sqlite3.connect(f"file:{path}?mode=rw", uri=True)) as db:
        if not db.execute("SELECT 1 FROM sqlite_schema WHERE name = 'total'").fetchall():
            return []  # whoever makes it has only begun
        return db.execute("SELECT letter, words FROM total ORDER BY letter").fetchall()
