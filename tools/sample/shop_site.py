"""The server of the shop, on a port of loopback while its `with` block lasts.

It answers as a proxy does, for whoever asks it for a page of `shop.example`, and to whoever comes
to its port: so the shop has the same name on whichever port it is.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from threading import Lock
from urllib.parse import parse_qsl

from ..network import server
from ..network.reply import HTML, Reply, html_error, json_reply, parse_target
from . import shop
from .shop import Flaws

LONGEST_FORM = 65_536
DRIPS = 10


@dataclass(frozen=True, slots=True)
class Dripping(Reply):
    """Sent in a few pieces, with a pause before each."""

    pause_s: float = 0.0


class ShopHandler(server.Handler):
    server: ShopServer

    def do_GET(self) -> None:
        self._form: dict[str, str] | None = None
        self._skip_body()
        self._reply()

    do_HEAD = do_GET

    def do_POST(self) -> None:
        length = self.headers.get("Content-Length", "")
        if not length.isdecimal() or int(length) > LONGEST_FORM:
            self.close_connection = True
            self.send(html_error(413, "Only short forms are read here."))
            return
        self._form = dict(parse_qsl(self.body(int(length)).decode(errors="replace"), True))
        self._reply()

    def _reply(self) -> None:
        self.send(self.respond(*parse_target(self.path.removeprefix(shop.BASE) or "/")))

    def answer(self, path: str, query: Mapping[str, str]) -> Reply:
        return self.server.answer(path, query, self._form)

    def send(self, answer: Reply) -> None:
        if not isinstance(answer, Dripping):
            super().send(answer)
            return
        self.write("\r\n".join([*self.head(answer), "\r\n"]).encode("latin-1"))
        size = -(-len(answer.body) // DRIPS)
        for at in range(0, len(answer.body), size):
            time.sleep(answer.pause_s)
            self.write(answer.body[at : at + size])


class ShopServer(server.Server):
    """`asked` counts the requests so far, each as METHOD and path with its query."""

    def __init__(self, flaws: Flaws, port: int = 0) -> None:
        super().__init__(("127.0.0.1", port), ShopHandler)
        self.flaws = flaws
        self.asked: Counter[str] = Counter()
        self._counting = Lock()

    def answer(self, path: str, query: Mapping[str, str], form: dict[str, str] | None) -> Reply:
        target = path + "".join(f"?{name}={value}" for name, value in query.items())
        with self._counting:
            self.asked[f"{'GET' if form is None else 'POST'} {target}"] += 1
        number = query.get("page", query.get("after", "1" if path != "/api/reviews" else "0"))
        if not number.isdecimal() or len(number) > 9:
            return html_error(400, "That is no number.")
        match path.strip("/").split("/"):
            case [""]:
                return Reply(200, shop.home(), HTML)
            case ["c", name] if name in shop.CATEGORIES:
                return Reply(200, shop.listing(name, int(number), self.flaws), HTML)
            case ["p", sku] if sku in shop.BY_SKU:
                return self._product(shop.BY_SKU[sku])
            case ["api", "reviews"]:
                return json_reply(shop.reviews(int(number)))
            case ["search"]:
                return self._search(form or {})
            case ["robots.txt"]:
                return Reply(200, b"User-agent: *\nDisallow: /cellar/\n", "text/plain")
        return html_error(404, "There is no such page.")

    def _product(self, product: shop.Product) -> Reply:
        flaws, times = self.flaws, self.asked[f"GET /p/{product.sku}"]
        if flaws.gone and product.sku == shop.GONE:
            return html_error(410, "We no longer sell this.")
        if flaws.once and product.sku == shop.ONCE and times == 1:
            return html_error(500, "Try again.")
        is_changed = flaws.changed and self.asked["GET /"] > 1
        body = shop.product_page(product, flaws, is_changed)
        if flaws.gbk and product.sku == shop.CHINESE:
            return Reply(200, body, "text/html")
        if flaws.drip_s and product.sku == shop.DRIPPING:
            return Dripping(200, body, HTML, pause_s=flaws.drip_s / DRIPS)
        return Reply(200, body, HTML)

    def _search(self, form: Mapping[str, str]) -> Reply:
        found = None
        if (form.get("page") or "1").isdecimal():
            found = shop.search(form)
        return Reply(200, found, HTML) if found else html_error(400, "The form is not complete.")


class ShopSite(server.Serving):
    def __init__(self, flaws: Flaws | None = None, port: int = 0) -> None:
        self.server = ShopServer(flaws or Flaws(), port)
        super().__init__(self.server, "shop")
