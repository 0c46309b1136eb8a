"""Lines of a log by level: found however much was written since, up to a bound that is said."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tools.reports.view import STRANGER
from tools.settings import Settings
from tools.web import log_tail
from tools.web.log_file import last_lines
from tools.web.pages import log_lines
from tools.web.site import Site, Sources
from tools.web.templates import rendering

DAY = "2026-01-01"


def as_text(number: int, level: str = "info", message: str = "m") -> str:
    time = f"{number // 3600:02}:{number // 60 % 60:02}:{number % 60:02}"
    return f"{DAY} {time},000 {level.upper():<7} {message} {number}\n"


def as_json(number: int, level: str = "info", message: str = "m") -> str:
    time = f"{DAY}T00:00:00.{number % 1000:03}Z"
    event = {"time": time, "level": level, "module": "x", "message": f"{message} {number}"}
    return json.dumps(event, ensure_ascii=False) + "\n"


@pytest.mark.parametrize("line", [as_text, as_json])
def test_an_error_before_very_many_lines(tmp_path: Path, line: Callable[..., str]) -> None:
    many = [line(number, "info", "words " * 20) for number in range(20_000)]
    text = line(1, "error", "it broke") + "".join(many) + line(2, "warning", "and more")
    assert len(text) > 5 * 400_000
    (tmp_path / "log").write_text(text, encoding="utf-8")
    found = last_lines(tmp_path / "log", "warning")
    assert [(each.level, each.message) for each in found.lines] == [
        ("error", "it broke 1"), ("warning", "and more 2")
    ]  # fmt: skip
    assert found.searched is None


def test_those_of_rotated_files_come_first(tmp_path: Path) -> None:
    for at, name in enumerate(("log.3", "log.2", "log.1", "log")):
        (tmp_path / name).write_text("".join(as_text(10 * at + n, "error") for n in range(3)))
    (tmp_path / "log.1").unlink()
    found = last_lines(tmp_path / "log", "error")
    numbers = [int(each.message.split()[-1]) for each in found.lines]
    assert numbers == [0, 1, 2, 10, 11, 12, 30, 31, 32]
    few = last_lines(tmp_path / "log", "error", 4)
    assert few.lines == found.lines[-4:] and few.searched is None


def test_pieces_end_amid_lines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """However long they are, each is whole and there once."""
    texts = [as_text(number, "error", "é" * (number % 90)) for number in range(50)]
    (tmp_path / "log").write_text("".join(texts), encoding="utf-8")
    for piece in (1, 7, 64, 1000):
        monkeypatch.setattr(log_tail, "PIECE", piece)
        found = log_tail.last_of([tmp_path / "log"], lambda _: True, 1000)
        assert b"\n".join(found.lines).decode() + "\n" == "".join(texts), piece


@pytest.mark.parametrize("bound", ["MOST_BYTES", "LONGEST_S"])
def test_where_it_stops_is_said(
    bound: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(log_tail, "PIECE", 1000)
    monkeypatch.setattr(log_tail, bound, 10_000 if bound == "MOST_BYTES" else 0.0)
    many = "".join(as_text(number) for number in range(1000))
    (tmp_path / "log").write_text(as_text(1, "error") + many)
    site = Site(Sources(Settings(state=tmp_path), tmp_path / "pools.db", lambda _: STRANGER))
    shown = log_lines(site, {"level": "error"})
    assert shown["lines"] == []
    if bound == "MOST_BYTES":
        assert 9_000 < shown["searched"] < 12_000
        assert "Nothing of this level in the last 1" in page_of(shown)
        (tmp_path / "log").write_text(as_text(1, "error") + many + as_text(2, "error"))
        assert "was not looked at" in page_of(log_lines(site, {"level": "error"}))


def page_of(shown: dict[str, object]) -> str:
    return rendering(None)("parts/log.html", **shown)


def test_a_file_that_got_its_next_name_meanwhile_is_not_read_twice(tmp_path: Path) -> None:
    (tmp_path / "log").write_text(as_text(1, "error"))
    (tmp_path / "log.1").hardlink_to(tmp_path / "log")
    assert len(last_lines(tmp_path / "log", "error").lines) == 1


def test_without_a_log_there_are_no_lines(tmp_path: Path) -> None:
    assert last_lines(tmp_path / "log") == ([], None)
