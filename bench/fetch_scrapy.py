"""A peer of `bench/fetch.py`: the same walk by Scrapy, whose queue is on disk (`JOBDIR`).

It runs in an environment of its own, without anything of ours, and stores nothing else.

    python bench/fetch_scrapy.py http://127.0.0.1:8084 /c/en/dog 8 FOLDER
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

import scrapy
from scrapy.crawler import CrawlerProcess
from scrapy.http import TextResponse


class Concepts(scrapy.Spider):  # type: ignore[misc]
    name = "concepts"

    def __init__(self, base: str, seed: str, **rest: Any) -> None:
        super().__init__(**rest)
        self._base = base
        self._seen = {seed}
        self.start_urls = [self._url(seed)]

    def parse(self, response: TextResponse, **_: Any) -> Iterator[Any]:
        """What was seen before would be dropped later, but at a price."""
        edges = response.json()["edges"]
        new = {edge[side]["@id"] for edge in edges for side in ("start", "end")} - self._seen
        self._seen |= new
        for concept in new:
            yield scrapy.Request(self._url(concept), dont_filter=True)

    def _url(self, concept: str) -> str:
        return f"{self._base}{concept}?limit=1000"


def main(base: str, seed: str, at_once: str, folder: str) -> None:
    process = CrawlerProcess(
        {
            "CONCURRENT_REQUESTS": int(at_once),
            "CONCURRENT_REQUESTS_PER_DOMAIN": int(at_once),
            "DOWNLOAD_DELAY": 0,
            "ROBOTSTXT_OBEY": False,
            "TELNETCONSOLE_ENABLED": False,
            "COOKIES_ENABLED": False,
            "LOG_LEVEL": "ERROR",
            "JOBDIR": folder,
        }
    )
    crawler = process.create_crawler(Concepts)
    process.crawl(crawler, base=base, seed=seed)
    process.start()
    print(crawler.stats.get_value("response_received_count"))


if __name__ == "__main__":
    main(*sys.argv[1:])
