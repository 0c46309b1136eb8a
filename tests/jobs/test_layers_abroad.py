"""What nodes bring of a task's pages is what the task could have given, or is kept by nobody."""

from __future__ import annotations

import time
from contextlib import closing
from datetime import UTC, date, datetime
from datetime import time as day_time
from decimal import Decimal
from pathlib import Path
from random import Random
from threading import Event
from typing import Any

import orjson
import pytest

from tests.support.chance import any_seed
from tests.support.spoiling import spoilt
from tools.archive.answer import Answered
from tools.archive.record import Exchange, pack
from tools.cluster.abroad import StaysHere
from tools.cluster.cargo import result_of
from tools.cluster.hosts import HostReports, NodeHosts
from tools.cluster.messages import Result
from tools.cluster.travel import TravelCarrier
from tools.cluster.wire import table_of_done
from tools.engine.stage import Done, Found, Stage
from tools.engine.stage import Task as Leased
from tools.errors import ComeBack, HarvestError, Interrupted, RetryLater
from tools.jobs.layers_abroad import VisitCargo
from tools.jobs.layers_node import visited_said
from tools.layers.asker import lane_in
from tools.layers.kept import Answer
from tools.layers.request import Request, identity_of, note_of
from tools.layers.store import Store
from tools.layers.task import LayerOptions, Task
from tools.layers.visit import Visited
from tools.network.hosts import Hosts
from tools.tables.declared import tables_of
from tools.tables.rows import Brought, Row
from tools.tables.target import open_target

pytestmark = pytest.mark.timeout(120)

FUZZED = 3000
URL = "http://shop.example/p/1"
KNOWN = {"finished", "failed", "visit", "to_visit"}
STAGE = Stage("visit", 1, lane=lane_in)


class Shop(Task):
    name = "shop"
    layers = {"list": 0, "detail": 1, 7: 2}  # noqa: RUF012
    layer_options = {"detail": LayerOptions(keep=True)}  # noqa: RUF012
    tables = {  # noqa: RUF012
        "product": {
            "key": ["sku"],
            "columns": {
                **{"sku": "VARCHAR(20)", "price": "DECIMAL(10,2)", "seen": "DATETIME"},
                **{"day": "DATE", "picture": "BLOB", "more": "JSON", "at": "TIME"},
            },
        }
    }
    forget = ("__STATE",)


TASK, TABLES = Shop(), tables_of(Shop.tables)


def leased(url: str = URL) -> Leased:
    request = Request("detail", "GET", url)
    uri = identity_of(request)
    task = Leased(1, uri, STAGE, None, 1, 0, token=7, lane=lane_in(uri))
    task.note = note_of(request) or None
    return task


def answered() -> Answered:
    now = datetime.now(UTC)
    headers = [("Content-Type", "text/html")]
    packed = pack(
        Exchange(URL, now, 200, headers, b"<p>", request="GET / HTTP/1.1"), notes={"a": "b"}
    )
    return Answered("shop.example", URL, now.isoformat(), 200, "text/html", packed)


VALUES: dict[str, Any] = {
    "sku": "TEA \U0001f600 \ud800",
    "price": Decimal("12.50"),
    "seen": datetime(2026, 1, 2, 3, 4, 5, 678, tzinfo=UTC),
    "day": date(2026, 1, 2),
    "at": day_time(3, 4, 5),
    "picture": b"\x00\xff",
    "more": {"a": [1, None, {"b": (2.5, True)}], "n": 10**30},
}


def done_of(task: Leased) -> Done:
    """As a visit gives it."""
    requests = [
        Request("detail", "GET", "http://shop.example/p/2", referer=URL, carried={"c": [1]}),
        Request("detail", "POST", "http://shop.example/p", None, {"a": "1", "__STATE": "x"}),
        Request("detail", "JSON", "http://other.example/api", None, {"b": [1, 2], "__STATE": 3}),
    ]
    uris = [identity_of(each, TASK.forget) for each in requests]
    notes = [note_of(each) or None for each in requests]
    deep = Request(7, "GET", "http://shop.example/deep")
    found = [
        Found("visit", uris, depth=1, notes=notes),
        Found("visit", [identity_of(deep)], depth=2, notes=[note_of(deep)]),
    ]
    rows = [Row("product", **VALUES), Row("product", sku="TEA-2", price=3)]
    brought = Brought(task.uri, rows, ["product"], 4, time.time() - 1.0)
    visited = Visited(brought, Answer(task.uri, answered()))
    tally = {"status 200": 1, "skipped product: no sku": 2, "rows product": 2}
    return Done("finished", found, visited, tally)


class Scene:
    """A node that has visited a page, and who it tells."""

    def __init__(self) -> None:
        self.hosts = Hosts(1.0, 0.0, 1, 30.0)
        reports = HostReports(self.hosts)
        self.cargo = VisitCargo(TASK, TABLES, reports, lambda: 9, 1_000_000)
        self.there = NodeHosts(Event())
        self.carrier = TravelCarrier(visited_said, self.there)
        self.task = leased()

    def message(self, work: Any = done_of) -> Result:
        """As it travels."""
        self.carrier.arrived(self.task.uri, self.cargo.outgoing(self.task), False)
        result: Done | HarvestError
        try:
            result = self.carrier.wrapped(work)(self.task)
        except HarvestError as trouble:
            result = trouble
        cargo = orjson.loads(orjson.dumps(self.carrier.leaving(self.task.uri, result)))
        done = table_of_done(result) if isinstance(result, Done) else None
        error = None if done else {"name": "ComeBack", "text": "x", "delay": 0.0, "status": None}
        return Result(7, "visit", self.task.uri, done, error, cargo, None)

    def brought(self, message: Result) -> Done | Exception:
        return result_of(self.task, message, self.cargo, KNOWN)


def test_what_a_page_gave_arrives_as_it_was() -> None:
    scene = Scene()
    sent, result = done_of(scene.task), scene.brought(scene.message())
    assert isinstance(result, Done)
    found, wanted = result.records, sent.records
    assert isinstance(found, Visited) and isinstance(wanted, Visited)
    assert found.brought.rows == wanted.brought.rows
    assert [type(each) for each in found.brought.rows[0].values.values()] == [
        type(each) for each in VALUES.values()
    ]
    assert found.brought._replace(rows=[], seen=0.0) == (scene.task.uri, [], ["product"], 9, 0.0)
    assert abs(found.brought.seen - wanted.brought.seen) < 5.0
    assert found.answer is not None and found.answer.answered.domain == "shop.example"
    assert (result.found, result.tally) == (sent.found, sent.tally)


@pytest.mark.parametrize(
    ("place", "value"),
    [
        (["cargo", "records", "rows", 0, 0], "sqlite_master"),
        (["cargo", "records", "rows", 0, 1], {"_request": "x"}),
        (["cargo", "records", "rows", 0, 1], {"price; DROP TABLE product": 1}),
        (["cargo", "records", "rows"], []),
        (["cargo", "records", "age_s"], -1),
        (["cargo", "records", "answer"], None),
        (["cargo", "records", "answer", "status"], 404),
        (["cargo", "records", "answer", "address"], "file:///etc/passwd"),
        (["cargo", "records", "answer", "packed", "content"], "AAAA"),
        (["cargo", "records", "answer", "packed", "parts", 0, 1], 5),
        (["cargo", "records", "answer", "packed", "digest"], "sha1:x"),
        (["done", "to"], "to_visit"),
        (["done", "found", 0, 0], "finished"),
        (["done", "found", 0, 2], 5),
        (["done", "found", 0, 3], 2),
        (["done", "found", 0, 3], None),
        (["done", "found", 0, 5], "visit"),
        (["done", "found", 0, 1, 0], "detail GET ftp://shop.example/"),
        (["done", "found", 0, 1, 0], "other GET http://shop.example/p/2"),
        (["done", "found", 0, 1, 0], "detail DELETE http://shop.example/p/2"),
        (["done", "found", 0, 1, 0], "detail"),
        (["done", "found", 0, 4, 0], '{"url": "http://other.example/"}'),
        (["done", "found", 0, 4, 0], "[]"),
        (["done", "found", 0, 4, 0], "{"),
        (["done", "found", 0, 4, 2], '{"url": "http://other.example/x", "payload": 1}'),
        (["done", "tally", "rows product"], 5),
        (["done", "tally", "dropped list"], 1),
        (["done", "tally", "finished"], 1),
        (["done", "facts"], {"harvest": "x"}),
        (["done", "reason"], "x"),
    ],
)
def test_what_the_task_could_not_give_is_kept_by_nobody(place: list[Any], value: object) -> None:
    scene = Scene()
    message: dict[str, Any] = scene.message()._asdict()
    at: Any = message
    for key in place[:-1]:
        at = at[key]
    at[place[-1]] = value
    assert isinstance(scene.brought(Result(**message)), RetryLater)


def test_whatever_comes_is_refused_or_can_be_stored(tmp_path: Path) -> None:
    seed = any_seed()
    print(f"seed {seed}")
    random, refused, kept = Random(seed), 0, []
    whole = Scene().message()._asdict()
    for _ in range(FUZZED):
        scene = Scene()
        scene.cargo.outgoing(scene.task)
        message = spoilt({"done": whole["done"], "cargo": whole["cargo"]}, random)
        done = message.get("done")
        if not isinstance(done, dict):  # the wire itself refuses it
            continue
        result = scene.brought(
            Result(7, "visit", scene.task.uri, done, None, message.get("cargo"), None)
        )
        assert isinstance(result, RetryLater | Done), result
        refused += isinstance(result, RetryLater)
        if isinstance(result, Done):
            assert isinstance(result.records, Visited)
            kept.append(result.records)
    assert refused > FUZZED / 3
    with closing(open_target("sqlite:shop.db", tmp_path)) as target:
        target.prepare(TABLES)
        store = Store(target)
        store(kept)
        assert store.rows["product"] + sum(store.misfits.values()) > 0


@pytest.mark.parametrize("value", [object(), "x" * 9_000_000, {1, 2}])
def test_what_cannot_travel_is_done_by_the_coordinator(value: object) -> None:
    scene = Scene()

    def work(task: Leased) -> Done:
        visited = Visited(Brought(task.uri, [Row("product", sku=value)], ["product"], 1, 0.0))
        return Done("finished", records=visited)

    assert isinstance(scene.brought(scene.message(work)), ComeBack)
    with pytest.raises(StaysHere):
        scene.cargo.outgoing(scene.task)
    assert scene.cargo.outgoing(scene.task)["hosts"]["again"] is False, "once"


def test_of_a_task_that_was_taken_back_nothing_is_kept() -> None:
    scene = Scene()
    message = scene.message()
    scene.task.seconds = 1.0
    assert isinstance(scene.brought(message), Interrupted)
