"""Notices of nodes: one that says nothing for long, is held, or may not do what it came for."""

from __future__ import annotations

import pytest

from tools.assist.watchdogs import SILENT_S, NodeTroubles
from tools.journal.nodes import Node

NOW = 1_000_000.0
WELL = Node("lab-1", NOW, NOW, "1", 8, 3, 120, 0, 0, 9, 99, 0, None, 0, "", "")


@pytest.fixture
def said(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    monkeypatch.setattr("tools.assist.watchdogs.time.time", lambda: NOW)
    return []


def look(said: list[str], *moments: Node) -> list[str]:
    at = iter(moments)
    watch = NodeTroubles(lambda: [next(at)], lambda title, text: said.append(f"{title}: {text}"))
    for _ in moments:
        watch()
    return said


def test_of_one_that_is_well_nothing_is_said(said: list[str]) -> None:
    assert look(said, WELL, WELL) == []


def test_one_that_was_silent_for_a_moment_is_not_worth_a_word(said: list[str]) -> None:
    assert look(said, WELL._replace(since=None, heard=NOW - SILENT_S + 1)) == []


@pytest.mark.parametrize(
    ("ill", "word"),
    [
        (WELL._replace(since=None, refused="it has said 100 things"), "100 things"),
        (WELL._replace(since=None, heard=NOW - SILENT_S - 1), "last heard 10 minutes ago"),
        (WELL._replace(held="extend: its disk is full"), "its disk is full"),
        (WELL._replace(refused="extend: it has no key for pexels"), "no key for pexels"),
    ],
)
def test_each_trouble_is_said_once(said: list[str], ill: Node, word: str) -> None:
    look(said, ill, ill, ill)
    assert len(said) == 1 and "lab-1" in said[0] and word in said[0]


def test_it_is_said_again_when_it_was_well_meanwhile(said: list[str]) -> None:
    held = WELL._replace(held="extend: its disk is full")
    look(said, held, WELL, held)
    words = [each.partition(": ")[0].removeprefix("node lab-1 ") for each in said]
    assert words == ["does not work", "works again", "does not work"]
