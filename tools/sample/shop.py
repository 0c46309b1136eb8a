"""The built-in site of the job `layers`: a small shop for gardeners, with what real shops have.

Promise: the same on every call, and `TRUTH` says how many rows its two tasks must give. It has
listings whose pages follow each other, a page for each product, reviews as JSON behind a cursor,
and a search by POST whose hidden field differs with every answer. `Flaws` are what a test asks for.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from html import escape
from pathlib import Path
from typing import Any, NamedTuple

BASE = "http://shop.example"
TASKS = Path(__file__).with_name("tasks")
"""The folder with the two tasks for it, as a user would write them."""
A_PAGE, REVIEWS_A_PAGE, HITS_A_PAGE = 5, 20, 3
BRANDS = ("Oak", "Elm", "Yew")
SHOWN_BY_BRAND = 12
WORDS = ("sturdy", "cheap")
READERS = ("Ada", "Bo", "Chen", "Dilek", "Emeka", "Fay", "Gül")
SALT = "potting shed"
STATE = "__STATE"
CATEGORIES = {
    "seeds": (
        *("Sweet pea", "Borage", "Chard", "Dill", "Endive", "Fennel", "Garlic chives", "Hyssop"),
        *("Iceberg lettuce", "Jerusalem sage", "Kale", "Lovage", "Marigold", "Nasturtium"),
        *("Onion 'Red Baron'", "Parsley", "Quinoa", "Radish", "Sorrel", "Thyme & savory"),
        *("Urad bean", "Valerian", "Watercress"),
    ),
    "pots": (
        *("Clay pot", "Long box", "Hanging basket", "青瓷花盆", "Zinc tub", "Half barrel"),
        "Saucer <small>",
    ),
    "tools": (
        *("Spade", "Border fork", "Hoe", "Dibber", "Gardener's knife", "Loppers", "Rake", "Sieve"),
        *("Trowel", "Watering can"),
    ),
}


class Product(NamedTuple):
    sku: str
    category: str
    name: str
    price: str
    stock: int


class Review(NamedTuple):
    id: int
    sku: str
    author: str
    stars: int
    tags: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Flaws:
    """What goes wrong, each at a place of its own."""

    gone: bool = False  # one product is no longer there: 410
    once: bool = False  # one answers with 500 the first time
    drip_s: float = 0.0  # one takes so long, a few bytes at a time
    gbk: bool = False  # the one with a Chinese name is in GBK, and only its page says so
    itself: bool = False  # the last page of the pots calls itself the next one
    pair: bool = False  # the two pages of the tools call each other the next one
    changed: bool = False  # from the second visit of the first page on, prices are marked otherwise


PRODUCTS = tuple(
    Product(f"{category[:4].upper()}-{at:03}", category, name, f"{at + 0.5:.2f}", at % 4)
    for category, names in CATEGORIES.items()
    for at, name in enumerate(names, 1)
)
BY_SKU = {each.sku: each for each in PRODUCTS}
REVIEWS = tuple(
    Review(100 + at, product.sku, READERS[at % 7], 1 + at % 5, WORDS[: at % 3])
    for at, product in enumerate(PRODUCTS * 2)
)
TRUTH = {
    "product": len(PRODUCTS),
    "review": len(REVIEWS),
    "review_tag": sum(len(each.tags) for each in REVIEWS),
    "brand_hit": SHOWN_BY_BRAND,
}
REQUESTS = {"shop": 54, "brands": 7}
"""How many pages each of the two tasks asks for."""
GONE, ONCE, DRIPPING = "SEED-003", "SEED-007", "SEED-011"
CHINESE = next(each.sku for each in PRODUCTS if not each.name.isascii())


def home() -> bytes:
    links = (f'<a href="/c/{name}/">{name.title()}</a>' for name in CATEGORIES)
    return _page("The potting shed", f'<nav class="categories">{" ".join(links)}</nav>')


def listing(category: str, number: int, flaws: Flaws) -> bytes:
    mine = [each for each in PRODUCTS if each.category == category]
    shown = mine[(number - 1) * A_PAGE : number * A_PAGE]
    entries = (
        f'<li class="product"><a href="/p/{each.sku}">{escape(each.name)}</a> {each.price}'
        for each in shown
    )
    following = _following(category, number, number * A_PAGE < len(mine), flaws)
    more = f'<a class="next" href="?page={following}">more</a>' if following else ""
    return _page(category.title(), f"<ul>{''.join(entries)}</ul>{more}")


def _following(category: str, number: int, has_more: bool, flaws: Flaws) -> int | None:
    if has_more:
        return number + 1
    if flaws.itself and category == "pots":
        return number
    return number - 1 if flaws.pair and category == "tools" else None


def detail(product: Product, is_changed: bool = False) -> str:
    price = f'<p class="price">&euro; {product.price}</p>'
    if is_changed:
        price = f'<div class="amount">&euro; {product.price}</div>'
    facts = {"SKU": product.sku, "In stock": str(product.stock)}
    rows = "".join(f"<tr><th>{name}</th><td>{value}</td></tr>" for name, value in facts.items())
    name = escape(product.name)
    return f"<h1>{name}</h1>{price}<table>{rows}</table><a href='/c/{product.category}/'>back</a>"


def product_page(product: Product, flaws: Flaws, is_changed: bool) -> bytes:
    charset = "gbk" if flaws.gbk and product.sku == CHINESE else "utf-8"
    return _page(product.name, detail(product, is_changed), charset)


def reviews(after: int) -> dict[str, Any]:
    found = [each for each in REVIEWS if each.id > after][:REVIEWS_A_PAGE]
    has_more = bool(found) and found[-1].id < REVIEWS[-1].id
    return {
        "reviews": [each._asdict() | {"author": {"name": each.author}} for each in found],
        "next": found[-1].id if has_more else None,
    }


def new_state() -> str:
    """Another one each time; whoever sends back one that was given out is let in, even when the
    shop was closed meanwhile."""
    nonce = secrets.token_hex(4)
    return f"{nonce}.{_seal(nonce)}"


def _seal(nonce: str) -> str:
    return sha256(f"{SALT} {nonce}".encode()).hexdigest()[:12]


def is_state(text: str) -> bool:
    nonce, _, seal = text.partition(".")
    return seal == _seal(nonce)


def search(form: Mapping[str, str]) -> bytes | None:
    """The form and what it found; None if it came without the hidden field of the page before."""
    if form and not is_state(form.get(STATE, "")):
        return None
    brand, number = form.get("brand", ""), int(form.get("page") or 1)
    hits = [each for at, each in enumerate(PRODUCTS[:SHOWN_BY_BRAND]) if brand == BRANDS[at % 3]]
    first = (number - 1) * HITS_A_PAGE
    entries = (
        f'<li class="hit" data-sku="{each.sku}">{escape(each.name)}</li>'
        for each in hits[first : first + HITS_A_PAGE]
    )
    options = "".join(f'<option value="{each}">{each}</option>' for each in BRANDS)
    more = ""
    if first + HITS_A_PAGE < len(hits):
        more = f'<button class="more" name="page" value="{number + 1}">more</button>'
    hidden = f'<input type="hidden" name="{STATE}" value="{new_state()}">'
    boxes = f'{hidden}<select name="brand">{options}</select><button>Search</button>{more}'
    form_text = f'<form id="f" method="post" action="/search">{boxes}</form>'
    return _page("Search by brand", f"{form_text}<ul>{''.join(entries)}</ul>")


def _page(title: str, body: str, charset: str = "utf-8") -> bytes:
    text = (
        f'<!doctype html><html><head><meta charset="{charset}"><title>{escape(title)}</title>'
        f"</head><body>{body}</body></html>"
    )
    return text.encode(charset, "xmlcharrefreplace")
