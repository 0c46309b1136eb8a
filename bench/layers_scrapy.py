"""A peer of `bench/layers.py`: the same pages into a table of SQLite, by Scrapy with a pipeline.

It runs in an environment of its own, without anything of ours. As most pipelines do, it stores each
item when it comes, and commits once at the end: a crash loses all of it.

    python bench/layers_scrapy.py http://127.0.0.1:8081/index.html 8 FOLDER
"""

from __future__ import annotations

import sqlite3
import sys
from collections.abc import Iterator
from typing import Any

import scrapy
from scrapy.crawler import CrawlerProcess

TABLE = "CREATE TABLE product (sku TEXT PRIMARY KEY, name TEXT, price NUMERIC, stock INTEGER)"
PUT = "INSERT OR REPLACE INTO product VALUES (:sku, :name, :price, :stock)"


class Rows:
    """A pipeline."""

    @classmethod
    def from_crawler(cls, crawler: Any) -> Rows:
        return cls(crawler.settings["DATABASE"])

    def __init__(self, path: str) -> None:
        self._db = sqlite3.connect(path)
        self._db.execute(TABLE)

    def process_item(self, item: dict[str, Any]) -> dict[str, Any]:
        self._db.execute(PUT, item)
        return item

    def close_spider(self) -> None:
        self._db.commit()
        self._db.close()


class Shop(scrapy.Spider):  # type: ignore[misc]
    name = "shop"

    def __init__(self, seed: str, **rest: Any) -> None:
        super().__init__(**rest)
        self.start_urls = [seed]

    def parse(self, response: Any, **_: Any) -> Iterator[Any]:
        yield from response.follow_all(css="li.product a", callback=self.parse_product)
        yield from response.follow_all(css="a.next", callback=self.parse)

    def parse_product(self, response: Any) -> Iterator[dict[str, Any]]:
        yield {
            "sku": response.css(".sku::text").get(),
            "name": response.css("h1::text").get(),
            "price": float(response.css(".price::text").re_first(r"[\d.]+")),
            "stock": int(response.css(".stock::text").re_first(r"\d+")),
        }


def main(seed: str, at_once: str, folder: str) -> None:
    process = CrawlerProcess(
        {
            "CONCURRENT_REQUESTS": int(at_once),
            "CONCURRENT_REQUESTS_PER_DOMAIN": int(at_once),
            "DOWNLOAD_DELAY": 0,
            "ROBOTSTXT_OBEY": False,
            "TELNETCONSOLE_ENABLED": False,
            "LOG_LEVEL": "ERROR",
            "DATABASE": f"{folder}/items.db",
            "ITEM_PIPELINES": {Rows: 1},
        }
    )
    process.crawl(process.create_crawler(Shop), seed=seed)
    process.start()


if __name__ == "__main__":
    main(*sys.argv[1:])
