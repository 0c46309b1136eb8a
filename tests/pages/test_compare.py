"""`pages compare`: many workers crawl more than few, and nothing stays behind."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.command import Here, run
from tools.commands.pages_compare import Outcome, told


def test_many_crawl_more_than_few(tmp_path: Path) -> None:
    flags = ("--workers", "1,8", "--seconds", 3, "--latency", 0.4, "--plot", "workers.png")
    done = run(
        "main.py", "pages", "compare", "--sample", *flags, cwd=tmp_path, TMPDIR=str(tmp_path)
    )
    assert done.returncode == 0, done.stderr
    head, *rows, picture = done.stdout.splitlines()
    assert head.split() == ["workers", "crawled", "queued", "words", "pages", "a", "second"]
    (one, few, *_), (eight, many, queued, words, _) = ([*row.split()] for row in rows)
    assert (one, eight, picture) == ("1", "8", "workers.png")
    assert int(many) > 2 * int(few) > 0
    assert int(queued) > 0 and int(words.replace(",", "")) > int(many)
    assert [path.name for path in tmp_path.iterdir()] == ["workers.png"]


def test_numbers_stand_below_each_other() -> None:
    lines = told([Outcome(1, 299, 5, 12_000, 60.0), Outcome(25, 7_000, 0, 300_000, 60.0)])
    assert {len(line) for line in lines} == {len(lines[0])}
    assert lines[1].split() == ["1", "299", "5", "12,000", "5.0"]


@pytest.mark.parametrize("flags", [("--sample", "--seed", "x.example"), ()])
def test_it_must_know_where_to_begin(here: Here, flags: tuple[str, ...]) -> None:
    assert "needs --sample, or --seed" in here("pages", "compare", *flags)


@pytest.mark.parametrize("text", ["0", "many", "1,2000", "-1"])
def test_workers_are_numbers(here: Here, text: str) -> None:
    assert "must be numbers from 1" in here("pages", "compare", "--sample", f"--workers={text}")
