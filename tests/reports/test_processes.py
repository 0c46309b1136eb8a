"""The processes of a harvest, as people see them."""

from __future__ import annotations

import time

from tools.journal.facts import PROCESSES
from tools.journal.processes import Process, processes_fact, processes_in
from tools.reports.processes import MOST_LINES, lines, section


def process(number: int, deaths: int = 0, why: str = "") -> Process:
    died_at = time.time() - 200 if deaths else None
    return Process(f"process {number}", 1e9, 1000, 123_456, 99 * 10**9, deaths, died_at, why)


def test_a_report_has_a_row_of_each_and_says_why_it_died() -> None:
    text = section([process(1), process(999, 1234, "it said \x1b[2J\nnonsense")], time.time())
    assert text[0].startswith("Processes ") and "per minute" in text[0]
    assert max(map(len, text)) <= 80 and "\x1b" not in "".join(text)
    assert "process 999 died 3 min ago: it said" in text[-1] and len(text) == 4
    assert section([], time.time()) == []


def test_who_is_not_there_is_told() -> None:
    away = process(1)._replace(since=None, memory=0)
    assert "not running" in section([away], 0.0)[1]
    assert lines([away]) == ["process 1: 1000 at work, 123,456/min, not running"]


def test_many_are_told_together() -> None:
    few = [process(number) for number in range(MOST_LINES)]
    assert len(lines(few)) == MOST_LINES and lines([]) == []
    (line,) = lines([*few, process(9, 2)])
    assert line == "5 processes: 5000 at work, 617,280/min, 495 GB, 2 deaths"


def test_what_somebody_else_wrote_is_nothing() -> None:
    for text in ("", "{}", "[]", '{"pid": 7}', '{"pid": 7, "processes": [1]}', "\x00"):
        assert processes_in({PROCESSES: text}, 7) == []
    assert (
        processes_in({PROCESSES: '{"pid": 7, "processes": [["a", "b", 1, 1, 1, 1, 1, 1]]}'}, 7)
        == []
    )
    assert processes_fact(7, []) == {}
