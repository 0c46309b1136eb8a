"""A peer of `bench/pages.py`: a site crawled by Scrapy, every answer kept in a WARC file.

It runs in an environment of its own, without anything of ours.

    python bench/pages_scrapy.py http://127.0.0.1:8081/index.html 8 FOLDER
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import scrapy
from scrapy.crawler import CrawlerProcess
from scrapy.http import Response, TextResponse
from scrapy.linkextractors import LinkExtractor
from warcio.statusandheaders import StatusAndHeaders
from warcio.warcwriter import WARCWriter


class Kept:
    """A pipeline: one record for each answer, as warcio packs it by itself."""

    @classmethod
    def from_crawler(cls, crawler: Any) -> Kept:
        return cls(Path(crawler.settings["WARC_FILE"]))

    def __init__(self, path: Path) -> None:
        self._file = path.open("wb")
        self._writer = WARCWriter(self._file, gzip=True)

    def process_item(self, item: dict[str, Response]) -> dict[str, Response]:
        response = item["response"]
        pairs = response.headers.to_unicode_dict().items()
        head = StatusAndHeaders(f"{response.status} OK", list(pairs), protocol="HTTP/1.1")
        body = BytesIO(response.body)
        record = self._writer.create_warc_record(
            response.url, "response", payload=body, http_headers=head
        )
        self._writer.write_record(record)
        return item

    def close_spider(self) -> None:
        self._file.close()


class Site(scrapy.Spider):  # type: ignore[misc]
    name = "site"

    def __init__(self, seed: str, **rest: Any) -> None:
        super().__init__(**rest)
        self.start_urls = [seed]
        self._links = LinkExtractor()
        self._host = urlsplit(seed).netloc

    def parse(self, response: Response, **_: Any) -> Iterator[Any]:
        yield {"response": response}
        if isinstance(response, TextResponse):
            for link in self._links.extract_links(response):
                if urlsplit(link.url).netloc == self._host:
                    yield scrapy.Request(link.url)


def main(seed: str, at_once: str, folder: str) -> None:
    process = CrawlerProcess(
        {
            "CONCURRENT_REQUESTS": int(at_once),
            "CONCURRENT_REQUESTS_PER_DOMAIN": int(at_once),
            "DOWNLOAD_DELAY": 0,
            "ROBOTSTXT_OBEY": False,
            "TELNETCONSOLE_ENABLED": False,
            "LOG_LEVEL": "ERROR",
            "WARC_FILE": f"{folder}/site.warc.gz",
            "ITEM_PIPELINES": {Kept: 1},
        }
    )
    crawler = process.create_crawler(Site)
    process.crawl(crawler, seed=seed)
    process.start()
    print(crawler.stats.get_value("response_received_count"))


if __name__ == "__main__":
    main(*sys.argv[1:])
