"""The built-in shop: what it has, walked as a browser would, and what is wrong on request."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterator
from http.client import HTTPConnection, HTTPResponse
from urllib.parse import urlencode, urljoin, urlsplit

import pytest
from parsel import Selector

from tools.sample import shop
from tools.sample.shop import Flaws
from tools.sample.shop_site import ShopSite

pytestmark = pytest.mark.timeout(60)


class Visitor:
    """One connection, as a proxy is asked."""

    def __init__(self, site: ShopSite) -> None:
        place = urlsplit(site.url)
        self._line = HTTPConnection(str(place.hostname), place.port, timeout=20)

    def ask(self, path: str, form: dict[str, str] | None = None) -> tuple[HTTPResponse, bytes]:
        body = None if form is None else urlencode(form)
        self._line.request("GET" if form is None else "POST", shop.BASE + path, body)
        answer = self._line.getresponse()
        return answer, answer.read()

    def page(self, path: str, form: dict[str, str] | None = None) -> Selector:
        answer, body = self.ask(path, form)
        assert answer.status == 200, (path, body)
        return Selector(body.decode())

    def listings(self, first: str) -> Iterator[Selector]:
        path: str | None = first
        while path is not None:
            yield (page := self.page(path))
            following = page.css("a.next::attr(href)").get()
            path = urljoin(path, following) if following else None

    def close(self) -> None:
        self._line.close()


@pytest.fixture
def flaws() -> Flaws:
    return Flaws()


@pytest.fixture
def site(flaws: Flaws) -> Iterator[ShopSite]:
    with ShopSite(flaws) as site:
        yield site


@pytest.fixture
def visitor(site: ShopSite) -> Iterator[Visitor]:
    visitor = Visitor(site)
    yield visitor
    visitor.close()


def flawed(**flaws: object) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("flaws", [Flaws(**flaws)])  # type: ignore[arg-type]


def test_its_numbers() -> None:
    assert shop.TRUTH == {"product": 40, "review": 80, "review_tag": 79, "brand_hit": 12}
    assert len(shop.BY_SKU) == 40 and len({each.id for each in shop.REVIEWS}) == 80


def test_whoever_follows_its_links_finds_every_product(site: ShopSite, visitor: Visitor) -> None:
    found = {}
    for category in visitor.page("/").css("nav.categories a::attr(href)").getall():
        for listing in visitor.listings(category):
            links = listing.css("li.product a::attr(href)").getall()
            assert 0 < len(links) <= 5
            for link in links:
                page = visitor.page(link)
                cells = page.css("th::text, td::text").getall()
                price = re.findall(r"[\d.]+", page.css(".price::text").get(""))
                found[cells[1]] = (page.css("h1::text").get(), *price, cells[3])
    assert found == {each.sku: (each.name, each.price, str(each.stock)) for each in shop.PRODUCTS}
    assert sum(site.server.asked.values()) == 50


def test_reviews_follow_a_cursor(visitor: Visitor) -> None:
    path, found, pages = "/api/reviews", [], 0
    while path:
        answer, body = visitor.ask(path)
        said = json.loads(body)
        found += said["reviews"]
        pages += 1
        path = f"/api/reviews?after={said['next']}" if said["next"] is not None else ""
    assert (len(found), pages, answer.headers["Content-Type"]) == (80, 4, "application/json")
    assert found[5]["author"] == {"name": shop.REVIEWS[5].author}
    assert sum(len(each["tags"]) for each in found) == 79


def test_the_search_wants_its_hidden_field_back(visitor: Visitor) -> None:
    states, hits, requests = set(), set(), 0
    first = visitor.page("/search")
    for brand in first.css("option::attr(value)").getall():
        page, number = first, "1"
        while number:
            state = page.css("input[type=hidden]::attr(value)").get("")
            states.add(state)
            page = visitor.page("/search", {shop.STATE: state, "brand": brand, "page": number})
            requests += 1
            hits |= {(brand, sku) for sku in page.css("li.hit::attr(data-sku)").getall()}
            number = page.css("button.more::attr(value)").get("")
    assert (len(hits), requests, len(states)) == (12, 6, 4)
    for wrong in ({}, {shop.STATE: "x.y"}, {shop.STATE: shop.new_state(), "page": "x"}):
        assert visitor.ask("/search", {"brand": "Oak", **wrong})[0].status == 400


@pytest.mark.parametrize("path", ["/p/none", "/c/none/", "/x", "/api/none"])
def test_what_is_not_there_is_said_so(visitor: Visitor, path: str) -> None:
    assert visitor.ask(path)[0].status == 404


@pytest.mark.parametrize("number", ["x", "-1", "9" * 10, "²"])
def test_what_is_no_number_is_refused(visitor: Visitor, number: str) -> None:
    assert visitor.ask(f"/c/seeds/?{urlencode({'page': number})}")[0].status == 400


@flawed(gone=True, once=True)
def test_one_is_gone_and_one_fails_once(visitor: Visitor) -> None:
    statuses = [
        visitor.ask(f"/p/{sku}")[0].status for sku in (shop.GONE, shop.GONE, shop.ONCE, shop.ONCE)
    ]
    assert statuses == [410, 410, 500, 200]


@flawed(gbk=True)
def test_one_is_in_another_charset(visitor: Visitor) -> None:
    answer, body = visitor.ask(f"/p/{shop.CHINESE}")
    assert answer.headers["Content-Type"] == "text/html" and b'charset="gbk"' in body
    assert shop.BY_SKU[shop.CHINESE].name in body.decode("gbk")


@flawed(drip_s=0.5)
def test_one_drips(visitor: Visitor) -> None:
    begun = time.monotonic()
    assert visitor.page(f"/p/{shop.DRIPPING}").css("h1")
    assert time.monotonic() - begun > 0.4


@flawed(itself=True, pair=True)
def test_next_pages_that_go_in_circles(visitor: Visitor) -> None:
    following = {
        path: visitor.page(path).css("a.next::attr(href)").get()
        for path in ("/c/pots/?page=2", "/c/tools/", "/c/tools/?page=2")
    }
    assert list(following.values()) == ["?page=2", "?page=2", "?page=1"]


@flawed(changed=True)
def test_prices_are_marked_otherwise_from_the_second_visit_on(visitor: Visitor) -> None:
    for is_marked in (True, False):
        visitor.page("/")
        page = visitor.page("/p/POTS-001")
        assert bool(page.css(".price")) == is_marked and "1.50" in page.get()


def test_a_long_form_is_not_read(visitor: Visitor) -> None:
    assert visitor.ask("/search", {"brand": "x" * 70_000})[0].status == 413


def test_its_tasks_lie_beside_it() -> None:
    names = {path.name for path in shop.TASKS.iterdir() if path.is_file()}
    assert names == {"shop.toml", "brands.py"}
