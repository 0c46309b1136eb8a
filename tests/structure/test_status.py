"""How far a structure is, by the file of its pools: statuses, queues, failures by their key."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from tools.engine.pools import Pools
from tools.engine.stage import Done, Found
from tools.jobs.structure_description import STRUCTURE
from tools.settings import Settings
from tools.structure.raw import Raw
from tools.structure.status import create_view, failures_in, queues_in, statuses_in

DISPATCH, PARSE, EXPORT = STAGES = STRUCTURE.stages(Settings())
HASHES = [f"{number:064x}" for number in range(10)]


@pytest.fixture
def pools(tmp_path: Path) -> Iterator[Pools]:
    """Ten documents of all classes, and the source they come from."""
    with closing(Pools(tmp_path / "pools.db", STAGES)) as found:
        found.remember({"export": "register.json", "position folder:raw": ""})
        found.discover(Found("finished", ["folder:raw"], depth=0))
        for number, hash_ in enumerate(HASHES):
            note = Raw(f"raw/{number}", "folder:raw", str(number), None, 1, "json").as_note()
            uris = [f"register {hash_}"]
            found.discover(Found("parse", uris, priority=number % 4, depth=0, notes=[note]))
        create_view(tmp_path / "pools.db")
        yield found


def viewed(file: Path) -> dict[int, int]:
    with closing(sqlite3.connect(file)) as db:
        return dict(db.execute("SELECT status, count(*) FROM task GROUP BY status"))


def test_statuses_and_queues_are_the_same_counted_and_viewed(pools: Pools, tmp_path: Path) -> None:
    file = tmp_path / "pools.db"
    one, two, three = pools.lease(PARSE, 3)
    assert [task.priority for task in (one, two, three)] == [0, 0, 0]
    pools.advance((one, Done("to_export")))
    pools.give_up(two, "KeyError")
    (exported,) = pools.lease(EXPORT, 1)
    pools.give_up(exported, "not unique")
    four, *_ = pools.lease(PARSE, 1)
    pools.advance((four, Done("finished")))
    counted = {status: number for status, number in statuses_in(file).items() if number}
    assert counted == viewed(file) == {2: 6, 3: 1, 6: 1, 8: 1, 9: 1}
    queues = {each.name: each[1:3] for each in queues_in(file)}
    assert queues["structure:higher"] == (0, 1)
    assert queues["structure:low"] == (2, 0)
    assert queues["extracter:higher"] == (0, 0)


def test_without_an_export_documents_end_as_parsed(pools: Pools, tmp_path: Path) -> None:
    pools.remember({"export": ""})
    (task,) = pools.lease(PARSE, 1)
    pools.advance((task, Done("finished")))
    assert statuses_in(tmp_path / "pools.db")[7] == viewed(tmp_path / "pools.db")[7] == 1


def test_failures_are_read_by_their_key(pools: Pools, tmp_path: Path) -> None:
    for number, task in enumerate(pools.lease(PARSE, 10)):
        pools.give_up(task, f"reason {number % 3}")
    found, key = [], ("", 0)
    while some := failures_in(tmp_path / "pools.db", 4, key):
        found += some
        key = some[-1].reason, some[-1].id
    assert len(found) == 10
    assert [each.reason for each in found] == sorted(each.reason for each in found)
    assert {each.document for each in found} == set(HASHES)
    assert {each.stage for each in found} == {"parse"}


def test_failures_are_found_by_the_index(pools: Pools, tmp_path: Path) -> None:
    """However many there are, as many rows are read as are shown."""
    from tools.structure import status

    with closing(sqlite3.connect(tmp_path / "pools.db")) as db:
        plan = db.execute(f"EXPLAIN QUERY PLAN {status.FAILURES}", ("", 0, 50)).fetchall()
    assert "USING INDEX failures" in plan[0][-1]
    assert not any("TEMP B-TREE" in row[-1] for row in plan)
