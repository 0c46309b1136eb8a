"""A crawl of a made-up site into a table, to be killed: python -m tests.pages.writer ADDRESS FOLDER

It goes on where it was, says a word on each batch, and ends when every page was fetched twice.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from random import Random

from tools.pages.open_table import open_table
from tools.pages.page import (
    Analysed,
    ArchiveFile,
    Capture,
    Child,
    Controlled,
    Failed,
    Fetched,
    HostNews,
    Link,
    Page,
    Record,
    moment,
)
from tools.pages.table import PageTable

PAGES, LINKS, WORDS, BATCH = 90, 6, 40, 7
FIRST, SECOND = moment(1000), moment(2000)
LENGTH = 10


def url_of(number: int) -> str:
    return f"h.example/{number}"


def links_of(url: str) -> list[str]:
    chance = Random(url)
    return [url_of(chance.randrange(PAGES)) for _ in range(LINKS)]


def words_of(url: str, at: str) -> dict[str, int]:
    chance = Random(url + at)
    return {f"w{chance.randrange(200)}": chance.randrange(1, 5) for _ in range(WORDS)}


def crawl(table: PageTable) -> Iterator[None]:
    table.admit([Child(url_of(0), f"https://{url_of(0)}")])
    while True:
        pages = list(table.pages())
        Random().shuffle(pages)  # else those at the end would never come to their turn
        for at in range(0, len(pages), BATCH):
            table.write([record for page in pages[at : at + BATCH] for record in steps(page)])
            yield
        after = list(table.pages())
        if all(is_done(page) for page in after) and len(after) == len(pages):
            return


def is_done(page: Page) -> bool:
    return page.state == 2 or (page.state == 1 and page.fetched_at == SECOND)


def steps(page: Page) -> Iterator[Record]:
    """What comes next for a page. Children again and again: only the pools know who had them."""
    number = int(page.url.rpartition("/")[2])
    if number % 11 == 10:
        yield Failed(url=page.url, remark="HTTP 404", captures=[capture(number, 0)])
        return
    if page.sub_urls is not None:
        path = (*page.paths[0], page.url)
        children = [Child(url, f"https://{url}", path) for url in page.sub_urls]
        yield Controlled(url=page.url, children=children)
    if page.state == 0 and page.fetched_at is not None:
        links = [Link(url, f"https://{url}") for url in links_of(page.url)]
        yield Analysed(url=page.url, links=links, words=words_of(page.url, page.fetched_at))
    elif page.state == 0:
        yield fetched(page, number, FIRST)
    elif page.fetched_at == FIRST:
        yield fetched(page, number, SECOND, stale_before=SECOND)


def fetched(page: Page, number: int, at: str, stale_before: str | None = None) -> Fetched:
    found = capture(number, int(at == SECOND))
    return Fetched(
        url=page.url, fetched_at=at, address=page.address, captures=[found],
        stale_before=stale_before,
    )  # fmt: skip


def capture(number: int, visit: int) -> Capture:
    offset = (2 * number + visit) * LENGTH
    address = f"https://{url_of(number)}"
    return Capture(address, FIRST, 200, None, None, "a.warc.gz", offset, LENGTH)


def main(address: str, folder: Path) -> None:
    with closing(open_table(address, folder)) as table:
        table.claim("killed")
        table.write([HostNews(name="h.example", pages=1), ArchiveFile(name="b", bytes=1)])
        for _ in crawl(table):
            print("written", flush=True)


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
