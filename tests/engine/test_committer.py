"""Finished tasks come home in batches: records first, moves after, each with its own verdict."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from threading import Event, Thread
from typing import Any

import pytest

from tools.engine import committer as committer_module
from tools.engine.committer import Committer, TakenBack
from tools.engine.pools import Pools
from tools.engine.stage import Done, Found, Stage, Task
from tools.errors import Fatal, RetryLater, StopHarvest, Unavailable

FETCH = Stage("fetch", 8)
Told = list[tuple[str, Exception | None]]


@pytest.fixture
def pools(tmp_path: Path) -> Iterator[Pools]:
    pools = Pools(tmp_path / "pools.db", [FETCH])
    yield pools
    pools.close()


def lease(pools: Pools, count: int) -> list[Task]:
    pools.discover(Found("fetch", [f"/c/en/{n}" for n in range(count)]))
    return pools.lease(FETCH, count)


def settle(
    pools: Pools, store: Any, results: Sequence[tuple[Task, Done]]
) -> tuple[Told, list[Fatal]]:
    """Hand everything in while the settler is busy with nothing, so that it is one batch."""
    told: Told = []
    fatal: list[Fatal] = []
    committer = Committer(pools, store, fatal.append)
    for task, done in results:
        committer.put(task, done, lambda task, error: told.append((task.uri, error)))
    committer.start()
    committer.close(10)
    return told, fatal


def test_tasks_that_finish_together_share_a_transaction(pools: Pools) -> None:
    stored: list[list[object]] = []
    tasks = lease(pools, 5)
    results = [(task, Done("finished", (), f"page {task.uri}")) for task in tasks]
    told, _ = settle(pools, lambda records: stored.append(list(records)), results)
    assert stored == [[f"page /c/en/{n}" for n in range(5)]]
    assert told == [(f"/c/en/{n}", None) for n in range(5)]
    assert len(pools.finished) == 5


def test_a_task_moves_on_only_after_its_records_are_stored(pools: Pools) -> None:
    (task,) = lease(pools, 1)
    seen: list[int] = []
    settle(
        pools, lambda _: seen.append(len(pools.finished)), [(task, Done("finished", (), "page"))]
    )
    assert seen == [0] and len(pools.finished) == 1


def test_one_that_cannot_be_stored_fails_alone(pools: Pools) -> None:
    def store(records: Sequence[object]) -> None:
        if "bad" in records:
            raise RetryLater("the store does not like it")

    tasks = lease(pools, 3)
    pages = ("good", "bad", "fine")
    results = [(task, Done("finished", (), page)) for task, page in zip(tasks, pages, strict=True)]
    told, fatal = settle(pools, store, results)
    assert [(uri, type(error)) for uri, error in told] == [
        ("/c/en/0", type(None)),
        ("/c/en/1", RetryLater),
        ("/c/en/2", type(None)),
    ]
    assert sorted(pools.finished) == ["/c/en/0", "/c/en/2"]
    assert list(pools.on_fetch) == ["/c/en/1"] and not fatal


@pytest.mark.parametrize("error", [Unavailable("it is gone"), StopHarvest("the disk is full")])
def test_a_store_that_serves_nobody_is_asked_once_and_everybody_is_told(
    pools: Pools, error: Exception
) -> None:
    asked: list[int] = []

    def store(records: Sequence[object]) -> None:
        asked.append(len(records))
        raise error

    results = [(task, Done("finished", (), f"page {task.uri}")) for task in lease(pools, 5)]
    told, fatal = settle(pools, store, results)
    assert asked == [5]
    assert told == [(f"/c/en/{n}", error) for n in range(5)]
    assert len(pools.on_fetch) == 5 and not pools.finished and not fatal


def test_what_has_no_records_is_not_stored(pools: Pools) -> None:
    def store(records: Sequence[object]) -> None:
        raise AssertionError("nothing to store")

    (task,) = lease(pools, 1)
    told, _ = settle(pools, store, [(task, Done("finished"))])
    assert told == [("/c/en/0", None)]


def test_pools_that_cannot_be_written_are_fatal(pools: Pools) -> None:
    (task,) = lease(pools, 1)
    pools._register._db.execute("PRAGMA query_only = ON")
    told, fatal = settle(pools, lambda _: None, [(task, Done("finished"))])
    assert not told and isinstance(fatal[0], StopHarvest)
    pools._register._db.execute("PRAGMA query_only = OFF")


def test_a_slow_store_gathers_what_comes_meanwhile(pools: Pools) -> None:
    busy, release = Event(), Event()
    sizes: list[int] = []

    def store(records: Sequence[object]) -> None:
        sizes.append(len(records))
        busy.set()
        release.wait(30)

    tasks = lease(pools, 6)
    committer = Committer(pools, store, lambda _: None)
    committer.start()
    committer.put(tasks[0], Done("finished", (), "page"), lambda *_: None)
    assert busy.wait(30)
    for task in tasks[1:]:
        committer.put(task, Done("finished", (), "page"), lambda *_: None)
    release.set()
    committer.close(10)
    assert sizes == [1, 5]


def test_a_store_that_does_not_answer_keeps_nobody_waiting(pools: Pools) -> None:
    (task,) = lease(pools, 1)
    answered, told = Event(), []

    def store(_: Sequence[Any]) -> None:
        answered.wait(30)

    committer = Committer(pools, store, lambda _: None)
    committer.put(task, Done("finished", (), "page"), lambda task, _: told.append(task.uri))
    committer.start()
    assert not committer.close(0.05)
    assert not told and not pools.finished
    answered.set()
    committer.join(30)
    assert told == [task.uri]


def test_what_was_taken_back_is_not_stored(pools: Pools) -> None:
    stored: list[object] = []
    late, good = lease(pools, 2)
    pools.retry_later(late, "the harvest was stopped", spent=False)
    results = [(late, Done("finished", (), "late")), (good, Done("finished", (), "good"))]
    told, fatal = settle(pools, stored.extend, results)
    assert stored == ["good"] and not fatal
    assert [(uri, type(error)) for uri, error in told] == [
        ("/c/en/0", TakenBack),
        ("/c/en/1", type(None)),
    ]
    assert list(pools.to_fetch) == ["/c/en/0"] and list(pools.finished) == ["/c/en/1"]


def test_a_result_counts_for_its_own_lease_only(pools: Pools) -> None:
    """The URI is out again, with somebody else: what the first one brings is not for it."""
    stored: list[object] = []
    (first,) = lease(pools, 1)
    pools.retry_later(first, "its holder was silent", spent=False)
    (second,) = pools.lease(FETCH)
    assert (second.uri, second.id) == (first.uri, first.id) and second.token != first.token
    told, _ = settle(pools, stored.extend, [(first, Done("finished", (), "first"))])
    assert not stored and isinstance(told[0][1], TakenBack)
    assert list(pools.on_fetch) == [second.uri]
    told, _ = settle(pools, stored.extend, [(second, Done("finished", (), "second"))])
    assert stored == ["second"] and told == [(second.uri, None)]


def test_what_is_taken_back_amid_storing_does_not_move(pools: Pools) -> None:
    (task,) = lease(pools, 1)

    def store(_: Sequence[object]) -> None:
        pools.retry_later(task, "the harvest was stopped", spent=False)

    told, fatal = settle(pools, store, [(task, Done("finished", (), "page"))])
    assert isinstance(told[0][1], TakenBack) and not fatal
    assert list(pools.to_fetch) == [task.uri] and not pools.finished


# --- errands -------------------------------------------------------------------------------


def test_an_errand_comes_after_what_was_handed_in_and_before_what_follows(pools: Pools) -> None:
    seen: list[object] = []
    first, second = lease(pools, 2)
    is_busy, may_go_on = Event(), Event()

    def store(records: Sequence[Any]) -> None:
        seen.extend(records)
        is_busy.set()
        may_go_on.wait(30)

    committer = Committer(pools, store, lambda error: None)
    committer.start()
    committer.put(first, Done("finished", records="first"), lambda task, error: None)
    assert is_busy.wait(30)

    def work() -> None:
        seen.append(f"errand with {len(pools.finished)} finished")

    asking = Thread(target=committer.at_quiet_point, args=(work, 10))
    asking.start()
    while committer._inbox.empty():
        Event().wait(0.001)
    committer.put(second, Done("finished", records="second"), lambda task, error: None)
    may_go_on.set()
    asking.join(30)
    committer.close(10)
    assert seen == ["first", "errand with 1 finished", "second"]


def test_an_errand_that_fails_is_its_askers_matter(pools: Pools) -> None:
    (task,) = lease(pools, 1)
    committer = Committer(pools, lambda records: None, lambda error: None)
    committer.start()

    def fails() -> None:
        raise StopHarvest("no room")

    with pytest.raises(StopHarvest, match="no room"):
        committer.at_quiet_point(fails, 10)
    committer.put(task, Done("finished"), lambda task, error: None)
    assert committer.close(10)
    assert len(pools.finished) == 1


def test_an_errand_does_not_wait_for_ever_and_is_not_done_later(pools: Pools) -> None:
    (task,) = lease(pools, 1)
    is_busy, may_go_on = Event(), Event()
    done: list[str] = []

    def store(records: Sequence[Any]) -> None:
        is_busy.set()
        may_go_on.wait(30)

    committer = Committer(pools, store, lambda error: None)
    committer.start()
    committer.put(task, Done("finished", records="x"), lambda task, error: None)
    assert is_busy.wait(30)
    with pytest.raises(Unavailable, match="has not answered"):
        committer.at_quiet_point(lambda: done.append("errand"), 0.01)
    may_go_on.set()
    assert committer.close(10)
    assert done == []


def test_without_a_running_settler_an_errand_is_done_at_once(pools: Pools) -> None:
    done: list[str] = []
    Committer(pools, lambda records: None, lambda error: None).at_quiet_point(
        lambda: done.append("it"), 1
    )
    assert done == ["it"]


# --- failures ------------------------------------------------------------------------------


def test_a_failure_counts_for_its_own_lease_only(pools: Pools) -> None:
    stored: list[object] = []
    told: Told = []
    late, good = lease(pools, 2)
    pools.retry_later(late, "its holder was silent", spent=False)
    committer = Committer(pools, stored.extend, lambda error: None)
    for task in (late, good):
        failure = Done("failed", records=f"no {task.uri}", reason="HTTP 404")
        committer.put(task, failure, lambda task, error: told.append((task.uri, error)))
    committer.start()
    assert committer.close(10)
    assert stored == ["no /c/en/1"] and list(pools.failed) == ["/c/en/1"]
    assert isinstance(told[0][1], TakenBack) and told[1] == ("/c/en/1", None)


def test_results_in_quick_succession_are_waited_for_and_places_filled_once(
    pools: Pools, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(committer_module, "LINGER_S", 60.0)  # only the last one ends the wait
    stored: list[list[object]] = []
    freed: list[str] = []
    first, *others = lease(pools, 5)
    committer = Committer(pools, lambda records: stored.append(list(records)), lambda _: None)
    committer.start()

    def free() -> None:
        freed.append("places")

    for task in (first, *others):
        committer.put(task, Done("finished", records=task.uri), lambda *_: None, free)
        if task is first:
            wait_for(lambda: bool(freed))
    assert committer.close(10)
    assert stored == [[first.uri], [task.uri for task in others]]
    assert freed == ["places"] * 2


def wait_for(is_so: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 30
    while not is_so():
        assert time.monotonic() < deadline
        time.sleep(0.001)


def test_what_nobody_foresaw_ends_the_harvest_instead_of_leaving_it_waiting(pools: Pools) -> None:
    (task,) = lease(pools, 1)
    found = Found("fetch", ["\ud800"])  # no database takes half a character
    _, fatal = settle(pools, lambda records: None, [(task, Done("finished", [found]))])
    assert "a bug in Sheaf" in str(fatal)
