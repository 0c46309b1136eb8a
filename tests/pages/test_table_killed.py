"""`kill -9` of whoever writes a table: every row is whole, and the end is that of a quiet crawl."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from contextlib import closing
from pathlib import Path
from random import Random
from threading import Event

import pytest

from tests.pages.writer import PAGES, crawl
from tests.support.chance import any_seed
from tests.support.command import ROOT, clean_environment
from tests.support.postgres_server import PostgresServer
from tools.pages.open_table import open_table, visit_table
from tools.pages.page import Page
from tools.pages.table import PageTable

KILLS = 30
MOST_BATCHES = 9  # between two kills, so that thirty of them do not reach the end

Essence = dict[str, object]


@pytest.mark.timeout(240)
@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_kills_change_nothing(kind: str, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    quiet = quiet_crawl(tmp_path / "quiet")
    assert len(quiet) > PAGES / 2
    address = "sqlite:pages.db"
    if kind == "postgresql":
        server: PostgresServer = request.getfixturevalue("postgres")
        address = server.database()
    seed = any_seed()
    print(f"kills drawn with seed {seed}")
    chance = Random(seed)
    amid = 0
    for _ in range(KILLS):
        amid += killed_amid_its_work(address, tmp_path, chance)
        with closing(visited(address, tmp_path)) as table:
            assert_whole(table)
    assert amid > KILLS / 2
    with closing(open_table(address, tmp_path)) as table:
        for _ in crawl(table):
            assert table.owner() == "killed"
        assert_whole(table)
        assert essence(table) == quiet


def quiet_crawl(folder: Path) -> Essence:
    with closing(open_table("sqlite:pages.db", folder)) as table:
        for _ in crawl(table):
            assert_whole(table)
        return essence(table)


def visited(address: str, folder: Path) -> PageTable:
    table = visit_table(address, folder)
    assert table is not None
    return table


def killed_amid_its_work(address: str, folder: Path, chance: Random) -> bool:
    words = [sys.executable, "-m", "tests.pages.writer", address, str(folder)]
    with subprocess.Popen(
        words, cwd=ROOT, env=clean_environment(), stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        for _ in range(chance.randrange(1, MOST_BATCHES)):
            process.stdout.readline()
        Event().wait(chance.uniform(0, 0.004))  # anywhere in the batch that follows
        process.kill()
        return process.wait(60) == -9


def assert_whole(table: PageTable) -> None:
    pages = list(table.pages())
    counts: Counter[str] = Counter()
    on_pages: Counter[str] = Counter()
    for page in pages:
        words = table.words_of(page.url)
        counts.update(words)
        on_pages.update(words.keys())
        assert_row(page, words)
        assert len(table.captures(page.url)) == captures_of(page)
    known = {each.word: (each.count, each.pages) for each in table.words(10_000)}
    assert known == {word: (count, on_pages[word]) for word, count in counts.items()}
    ends = [each.offset + each.length for _, each in table.captures_in("a.warc.gz")]
    assert table.ends_of_files().get("a.warc.gz", 0) == max(ends, default=0)


def assert_row(page: Page, words: dict[str, int]) -> None:
    assert page.depth == min(map(len, page.paths))
    assert all(page.url not in path for path in page.paths)
    if page.state == 1:
        assert page.sub_urls and sum(words.values()) == page.words
    elif page.sub_urls is None:
        assert not words and page.words is None


def captures_of(page: Page) -> int:
    visits = {None: 0, "1970-01-01T00:16:40.000Z": 1, "1970-01-01T00:33:20.000Z": 2}
    return int(page.state == 2) or visits[page.fetched_at]


def essence(table: PageTable) -> Essence:
    """Without the moments at which rows were written; of paths only how long the shortest is."""
    pages: Essence = {
        page.url: (page.state, page.depth, page.sub_urls, page.fetched_at, page.remark)
        for page in table.pages()
    }
    return pages | {"words": table.words(10_000)}
