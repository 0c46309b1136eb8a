"""What the table of pages costs: CPU a page, in SQLite and in PostgreSQL (the client's alone).

    .venv/bin/python -m bench.page_table [PAGES] [LINKS]

A site whose pages share half of their links; three writes of up to 100 records a batch, as three
stages bring them: downloads, analyses, children.
"""

from __future__ import annotations

import sys
import time
from collections import Counter
from contextlib import closing
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

from tests.support.postgres_server import postgres_server
from tools.pages.open_table import open_table
from tools.pages.page import (
    Analysed,
    Capture,
    Child,
    Controlled,
    Fetched,
    Link,
    PagePath,
    Record,
    moment,
)
from tools.pages.table import PageTable

BATCH = 100
TOKENS = 550  # these and the exponent give as many distinct words as manuals have


def url_of(number: int) -> str:
    return f"en.example.org/w/cpp/header/topic_{number % 97}/page_{number}.html"


class Site:
    def __init__(self, pages: int, links: int) -> None:
        chance = Random(1)
        vocabulary = [f"word{number}" for number in range(10_000)]
        weights = [1 / (rank + 1) ** 1.15 for rank in range(len(vocabulary))]
        common = range(links // 2)
        self.links = []
        self.words = []
        for number in range(pages):
            near = (chance.randrange(pages) for _ in range(links - len(common)))
            urls = dict.fromkeys(url_of(each) for each in (*common, *near, number + 1))
            self.links.append([Link(url, f"https://{url}") for url in urls])
            self.words.append(Counter(chance.choices(vocabulary, weights, k=TOKENS)))


def crawl(table: PageTable, site: Site, pages: int) -> dict[str, float]:
    """CPU us a page, by step."""
    spent = dict.fromkeys(("download", "analyse", "control"), 0.0)

    def write(step: str, records: list[Record]) -> None:
        before = time.process_time()
        table.write(records)
        spent[step] += time.process_time() - before

    table.admit([Child(url_of(0), f"https://{url_of(0)}")])
    order, done = [url_of(0)], 0
    paths: dict[str, PagePath] = {url_of(0): ()}
    while done < len(order) and done < pages:
        batch = order[done : done + BATCH]
        write("download", [fetched(url, done + at) for at, url in enumerate(batch)])
        write("analyse", [analysed(site, url) for url in batch])
        controlled: list[Record] = []
        for url in batch:
            path = (*paths[url], url)
            children = [Child(link.url, link.address, path) for link in links_of(site, url)]
            order += [child.url for child in children if child.url not in paths]
            paths |= {child.url: path for child in children if child.url not in paths}
            controlled.append(Controlled(url=url, children=children))
        write("control", controlled)
        done += len(batch)
    return {step: seconds / done * 1e6 for step, seconds in spent.items()} | {"pages": done}


def number_of(url: str) -> int:
    return int(url.rpartition("_")[2].removesuffix(".html"))


def links_of(site: Site, url: str) -> list[Link]:
    number = number_of(url)
    return site.links[number] if number < len(site.links) else []


def fetched(url: str, at: int) -> Record:
    address, when = f"https://{url}", moment(1.7e9 + at)
    digest = f"sha1:{at:032}"
    capture = Capture(address, when, 200, "text/html", digest, "a.warc.gz", at * 9000, 8000)
    return Fetched(
        url=url, fetched_at=when, address=address, status=200, content_type="text/html",
        charset="utf-8", bytes=37_000, digest=digest, etag='"abc"', captures=[capture],
    )  # fmt: skip


def analysed(site: Site, url: str) -> Record:
    number = number_of(url) % len(site.links)
    return Analysed(url=url, links=links_of(site, url), words=site.words[number], title=url)


def main(pages: int = 3000, links: int = 76) -> None:
    site = Site(pages, links)
    with TemporaryDirectory() as folder, postgres_server() as server:
        for address in ("sqlite:pages.db", server.database()):
            with closing(open_table(address, Path(folder))) as table:
                began = time.monotonic()
                cost = crawl(table, site, pages)
                wall = (time.monotonic() - began) / cost.pop("pages") * 1e6
            told = ", ".join(f"{step} {us:.0f}" for step, us in cost.items())
            kind = address.partition(":")[0]
            print(f"{kind}: {sum(cost.values()):.0f} us CPU a page ({told}); wall {wall:.0f}")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
