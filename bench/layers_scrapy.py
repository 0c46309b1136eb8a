"""A peer of `bench/layers.py`: the same site by Scrapy, its items by a pipeline into SQLite.

It runs in an environment of its own, without anything of ours.

    python bench/layers_scrapy.py http://127.0.0.1:8081/ 16 FOLDER
"""

from __future__ import annotations

import sqlite3
import sys
from collections.abc import Iterator
from typing import Any

import scrapy
from scrapy.crawler import CrawlerProcess
from scrapy.http import Response

A_BATCH = 200  # items a transaction: one each would cost it far more


class Stored:
    @classmethod
    def from_crawler(cls, crawler: Any) -> Stored:
        return cls(crawler.settings["DATABASE"])

    def __init__(self, path: str) -> None:
        self._db = sqlite3.connect(path)
        self._db.execute("CREATE TABLE item (sku TEXT PRIMARY KEY, name TEXT, price NUMERIC)")
        self._number = 0

    def process_item(self, item: dict[str, Any]) -> dict[str, Any]:
        row = (item["sku"], item["name"], item["price"])
        self._db.execute("INSERT OR REPLACE INTO item VALUES (?, ?, ?)", row)
        self._number += 1
        if self._number % A_BATCH == 0:
            self._db.commit()
        return item

    def close_spider(self) -> None:
        self._db.commit()
        self._db.close()


class Shop(scrapy.Spider):  # type: ignore[misc]
    name = "shop"

    def __init__(self, base: str, **rest: Any) -> None:
        super().__init__(**rest)
        self.start_urls = [base]

    def parse(self, response: Response, **_: Any) -> Iterator[Any]:
        for link in response.css("a.list::attr(href)").getall():
            yield response.follow(link, self.parse_list)

    def parse_list(self, response: Response) -> Iterator[Any]:
        for entry in response.css("li"):
            yield response.follow(entry.css("a::attr(href)").get(), self.parse_item)

    def parse_item(self, response: Response) -> Iterator[Any]:
        yield {
            "sku": response.xpath("//td/text()").get(),
            "name": response.css("h1::text").get(),
            "price": response.css(".price::text").re_first(r"[\d.]+"),
        }


def main(base: str, at_once: str, folder: str) -> None:
    process = CrawlerProcess(
        {
            "CONCURRENT_REQUESTS": int(at_once),
            "CONCURRENT_REQUESTS_PER_DOMAIN": int(at_once),
            "DOWNLOAD_DELAY": 0,
            "ROBOTSTXT_OBEY": False,
            "TELNETCONSOLE_ENABLED": False,
            "LOG_LEVEL": "ERROR",
            "DATABASE": f"{folder}/items.db",
            "ITEM_PIPELINES": {Stored: 1},
        }
    )
    process.crawl(Shop, base=base)
    process.start()


if __name__ == "__main__":
    main(*sys.argv[1:])
