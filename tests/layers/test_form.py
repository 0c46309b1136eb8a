"""Forms, beside what a real browser submits."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

import pytest

from tests.layers.form_cases import CASES
from tests.support.browser import Browser, browser
from tools.errors import GiveUp
from tools.layers.page import Page
from tools.layers.request import Request, identity_of

BOUNDARY = re.compile(rb"boundary=(\S+)")


@dataclass
class Site:
    """Shows a page for each case, and notes what is sent back."""

    url: str = ""
    sent: list[tuple[str, str, str, bytes]] = field(default_factory=list)

    def body(self, name: str) -> bytes:
        case = CASES[name]
        return f"<!doctype html><body>{case.markup}".encode(case.charset, "xmlcharrefreplace")

    def kind(self, name: str) -> str:
        return f"text/html; charset={CASES[name].charset}"


@pytest.fixture(scope="module")
def site() -> Iterator[Site]:
    site = Site()

    class Handler(BaseHTTPRequestHandler):
        def log_message(self, *_: Any) -> None:
            pass

        def do_GET(self) -> None:
            number = re.fullmatch(r"GET /page/here/(\d+)", f"{self.command} {self.path}")
            name = list(CASES)[int(number[1])] if number else ""
            size = int(self.headers.get("Content-Length") or 0)
            kind = self.headers.get("Content-Type") or ""
            if not name and self.path != "/favicon.ico":
                site.sent.append((self.command, self.path, kind, self.rfile.read(size)))
            body = site.body(name) if name else b"thanks"
            self.send_response(200)
            self.send_header("Content-Type", site.kind(name) if name else "text/plain")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        do_POST = do_GET

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        site.url = f"http://127.0.0.1:{server.server_port}"
        Thread(target=server.serve_forever, daemon=True).start()
        yield site
        server.shutdown()


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    with browser() as started:
        yield started


@pytest.mark.timeout(60)
@pytest.mark.parametrize("name", CASES)
def test_a_form_is_sent_as_a_browser_sends_it(name: str, site: Site, chromium: Browser) -> None:
    url, case = f"{site.url}/page/here/{list(CASES).index(name)}", CASES[name]
    site.sent.clear()
    chromium.visit(url)
    site.sent.clear()
    chromium.submit(case.css)
    ((method, target, kind, body),) = site.sent

    page = Page.of(url, 200, {"Content-Type": site.kind(name)}, site.body(name))
    request = page.form(case.css).request("next")

    own_kind, own_body = request.body or ("", b"")
    assert (request.verb, request.address) == (method, site.url + target)
    assert _unmarked(own_kind, own_body) == _unmarked(kind, body)


def _unmarked(kind: str, body: bytes) -> tuple[str, bytes]:
    """Each has its own mark between the parts."""
    found = BOUNDARY.search(kind.encode())
    if found is None:
        return kind, body
    return kind.replace(found[1].decode(), "MARK"), body.replace(found[1], b"MARK")


SEARCH = """<form id=f method=post action=/search><input type=hidden name=__STATE value=s1>
<select name=brand><option>Oak<option>Elm</select><input name=tag value=1><input name=tag value=2>
<button class=more name=page value=2>more</button></form>"""


def search() -> Page:
    return Page("http://h.example/a", text=SEARCH)


def test_fields_that_are_given_stand_where_the_form_has_them() -> None:
    request = search().form("#f").request(1, brand="Elm", page=3, tag=None)

    assert request == Request(
        1, "POST", "http://h.example/search", None, {"__STATE": "s1", "brand": "Elm", "page": "3"}
    )
    assert request.value("brand") == "Elm"
    assert identity_of(request, {"__STATE"}) == "1 POST http://h.example/search brand=Elm&page=3"


def test_a_list_is_a_field_for_each_of_it() -> None:
    request = search().form().request(1, tag=["7", "8"])

    assert request.payload == (("__STATE", "s1"), ("brand", "Oak"), ("tag", "7"), ("tag", "8"))


def test_a_form_is_found_by_what_stands_in_it() -> None:
    assert search().form("button.more").url == "http://h.example/search"


@pytest.mark.parametrize("css", ["form#other", "p"])
def test_a_page_without_the_form_is_given_up(css: str) -> None:
    with pytest.raises(GiveUp, match="no form"):
        search().form(css)


def test_a_form_that_leads_nowhere_is_given_up() -> None:
    with pytest.raises(GiveUp, match="mailto:somebody"):
        Page("http://h.example/", text="<form action='mailto:somebody@h.example'>").form()


def test_a_form_of_very_many_fields_ends() -> None:
    page = Page("http://h.example/", text="<form>" + "<input name=a><b>" * 50_000)

    assert len(page.form().fields) == 10_000
