"""A node whose line is down holds, and no other; what it counts is seen."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cluster.test_strangers import is_heard
from tests.support.nats_server import NatsServer, running_nats
from tests.support.office import Office, Stranger
from tools.base.why import Why
from tools.cluster import nodes
from tools.cluster.lines import FIRST_S, LONGEST_S, MOST_IN_A_ROW, Line, Lines
from tools.cluster.messages import Hold, Pulse
from tools.engine.executor import nodes_of
from tools.network.exchange import Exchange
from tools.network.traffic import Traffic
from tools.network.trouble import why_of


class Clock:
    now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def lines(clock: Clock) -> Lines:
    return Lines(clock)


def test_who_alone_gets_no_answer_is_held_for_longer_each_time(lines: Lines, clock: Clock) -> None:
    pauses = []
    for failed in range(1, 2000):
        lines.heard("beta", int(clock.now), 0)
        if (pause := lines.heard("alpha", failed, failed)) is not None:
            pauses.append(pause)
        clock.now += 2.0
    assert pauses[:3] == [FIRST_S, 2 * FIRST_S, 4 * FIRST_S] and pauses[-1] == LONGEST_S


def test_one_answer_is_enough(lines: Lines) -> None:
    lines.heard("beta", 5, 0)
    assert lines.heard("alpha", MOST_IN_A_ROW + 1, MOST_IN_A_ROW) is None


def test_nobody_is_held_for_what_all_lack_or_one_alone(lines: Lines, clock: Clock) -> None:
    for requests in range(0, 100, 10):
        assert lines.heard("alpha", requests, requests) is None
        assert lines.heard("beta", requests, requests) is None
    lines.heard("beta", 101, 90)
    clock.now += 3600  # that was long ago
    assert lines.heard("alpha", 200, 200) is None


def test_a_node_that_was_started_again_counts_from_nothing(lines: Lines) -> None:
    lines.heard("beta", 5, 0)
    lines.heard("alpha", 100, 7)
    assert lines.heard("alpha", 3, 3) is None
    assert lines.heard("alpha", MOST_IN_A_ROW, MOST_IN_A_ROW) == FIRST_S


def test_failures_are_counted_by_kind_and_travel() -> None:
    there, here, line = Traffic(), Traffic(), Line()
    there.add(Exchange("a", 200, 10))
    for error in (socket.gaierror(socket.EAI_AGAIN, "x"), ConnectionRefusedError(), TimeoutError()):
        there.add(Exchange("b", failure=why_of(error)))
    table = line.counted(there.drained())
    assert table is not None and there.drained() is None and not there.failures
    here.merge(table)
    assert here.failures == {Why.NAME: 1, Why.REFUSED: 1, Why.SILENT: 1} and here.requests == 4
    counts = {"requests": 4, "bytes": 10, "failed_names": 1, "failed_connections": 2}
    assert line.sight() == counts
    wrongs: tuple[object, ...] = ({"x": 1}, {"connection lost": -1}, {"connection lost": 2**60}, [])
    for wrong in wrongs:
        with pytest.raises(ValueError, match=r"no traffic|not a valid"):
            here.merge({**table, "failures": wrong})


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[NatsServer]:
    with running_nats(tmp_path_factory.mktemp("nats") / "cluster") as server:
        yield server


def test_a_node_without_names_is_told_to_hold_and_shown(
    tmp_path: Path, server: NatsServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(nodes, "QUIET_S", 0.2)
    with (
        Office(tmp_path, server) as office,
        Stranger(server) as alpha,
        Stranger(server, "beta") as beta,
    ):
        alpha.join()
        beta.join()
        well = {"requests": 50, "bytes": 1000, "failed_names": 0, "failed_connections": 1}
        ill = {"requests": 9, "bytes": 0, "failed_names": 9, "failed_connections": 0, "held": "why"}
        beta.say(Pulse(beta.session, [], {}, well, None))
        assert is_heard(beta)
        for part in (1, 9):
            counts = {**ill, "requests": part, "failed_names": part}
            alpha.say(Pulse(alpha.session, [], {}, counts, None))
        held = [alpha.hear(Hold), alpha.hear(Hold)]
        assert {each.stage for each in held if isinstance(each, Hold)} == {"fetch", "extend"}
        shown = {each.name: each for each in nodes_of(office.executor)}
        assert (shown["alpha"].failed_names, shown["alpha"].held) == (9, "why")
        assert (shown["beta"].requests, shown["beta"].bytes) == (50, 1000)
        assert beta.heard.empty() or not isinstance(beta.heard.get(), Hold)
