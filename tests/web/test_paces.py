"""How often hosts were asked of late: counted between the moments at which it was written down."""

from __future__ import annotations

from tools.journal.sample import Sample
from tools.web.paces import MOST, SPAN_S, Paces


def at(elapsed: float, run: int = 1) -> Sample:
    return Sample(run, elapsed, 1e9 + elapsed, {}, 0, 0)


def asked(**requests: int) -> dict[str, tuple[int, int]]:
    return {host: (number, 0) for host, number in requests.items()}


def test_a_pace_is_that_of_the_last_minute() -> None:
    paces = Paces()
    assert paces.a_second(at(10), asked(a=1000)) == {}
    assert paces.a_second(at(11), asked(a=1001)) == {}  # too little is known
    assert paces.a_second(at(20), asked(a=1020, b=5)) == {"a": 2.0, "b": 0.5}
    for elapsed in range(21, 200):
        found = paces.a_second(at(elapsed), asked(a=1020, b=5 * (elapsed - 19)))
    assert found == {"a": 0.0, "b": 5.0}


def test_looks_at_the_same_moment_count_once() -> None:
    paces = Paces()
    for _ in range(100):
        paces.a_second(at(10), asked(a=1))
    for _ in range(100):
        assert paces.a_second(at(15), asked(a=11)) == {"a": 2.0}


def test_a_pause_of_the_looking_is_no_pace() -> None:
    """Else a host's pace would be that of a whole night."""
    paces = Paces()
    paces.a_second(at(10), asked(a=10))
    assert paces.a_second(at(10 + SPAN_S + 1), asked(a=5000)) == {}
    assert paces.a_second(at(10 + SPAN_S + 4), asked(a=5003)) == {"a": 1.0}


def test_a_new_run_begins_anew() -> None:
    paces = Paces()
    paces.a_second(at(10), asked(a=10))
    assert paces.a_second(at(50, run=2), asked(a=20)) == {}
    assert paces.a_second(at(1), asked(a=20)) == {}  # another state, in the same place
    assert paces.a_second(at(5), asked(a=24)) == {"a": 1.0}


def test_very_many_hosts_are_not_kept() -> None:
    paces = Paces()
    many = {str(number): (5, 0) for number in range(10_000)}
    paces.a_second(at(1), many)
    assert len(paces.a_second(at(5), many)) == MOST
    assert paces.a_second(at(6), {"new": (5, 0)}) == {}  # it may have been asked before
