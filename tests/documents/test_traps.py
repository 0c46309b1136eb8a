"""Links that have no end are seen by their address, hosts by their answers."""

from __future__ import annotations

import pytest

from tools.documents.traps import HostTraps, trap_of


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("h.example/", None),
        ("h.example/a/b/c?x=a/a/a/a/a", None),
        ("h.example/a/a/a", None),
        ("h.example/a/a/a/ab", None),
        ("h.example/a/a/a/a", "repeated segments"),
        ("h.example/x/a/a/a/a/y", "repeated segments"),
        ("h.example/a/b/a/b", None),
        ("h.example/a/b/a/b/a", None),
        ("h.example/a/b/a/b/a/b", "repeated segments"),
        ("h.example/x/a/b/a/b/a/b.html", None),
        ("h.example/x/a/b/a/b/a/b/", "repeated segments"),
        ("h.example/a/a/b/b/c/c/d/d", None),
        ("h.example/" + "/".join(map(str, range(20))), None),
        ("h.example/" + "/".join(map(str, range(21))), "too many segments"),
        ("h.example/" + "x" * 2038, None),
        ("h.example/" + "x" * 2039, "address too long"),
        ("h.example", None),
    ],
)
def test_an_address_without_end(name: str, reason: str | None) -> None:
    assert trap_of(name) == reason


def test_a_host_gives_no_more_than_wanted() -> None:
    traps = HostTraps(limit_per_host=3)
    traps.remember({"a": 1})
    assert [traps.let_in("a") for _ in range(3)] == [None, None, "limit of the host"]
    assert traps.let_in("b") is None


def test_without_a_limit_a_host_may_give_all_it_has() -> None:
    traps = HostTraps()
    assert {traps.let_in("a") for _ in range(1000)} == {None}


def test_the_same_page_fifty_times_in_a_row_is_enough() -> None:
    traps = HostTraps()
    for _ in range(49):
        traps.fetched("a", "same")
    traps.fetched("b", "same")
    assert traps.let_in("a") is None
    traps.fetched("a", "same")
    assert traps.let_in("a") == "the same content again and again"
    assert traps.let_in("b") is None


def test_another_page_between_breaks_the_row() -> None:
    traps = HostTraps()
    for number in range(200):
        traps.fetched("a", "other" if number % 50 == 49 else "same")
    assert traps.let_in("a") is None
