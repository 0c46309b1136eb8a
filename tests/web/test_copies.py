"""Archived copies of what hostile servers sent, in a browser: read, and connected to by nobody."""

from __future__ import annotations

import socket
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, closing
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote

import pytest
from playwright.sync_api import expect

from tests.support.crawl import crawl
from tests.support.site import Said, Site
from tests.web.eyes import Look, eyes_at_home
from tests.web.scene import PATIENCE_S, Served
from tests.web.serving import serving
from tools.web.inert import inert

XHTML = 'xmlns="http://www.w3.org/1999/xhtml"'
HTML_OF = "<!doctype html><title>t</title>{}<p>seen here"
IN_HTML = {
    "ahead": "<LINK\nrel=preconnect href=URL><link/rel=dns-prefetch href=URL>",
    "fetched": "<link rel=stylesheet href=URL><link rel=prefetch href=URL><base href=URL>",
    "modules": "<link rel=modulepreload href=URL><link rel=icon href=URL>",
    "refresh": "<meta http-equiv=refresh content='0;url=URL'>",
    "frame": "<iframe src=URL><b></iframe>",
    "framed": "<iframe srcdoc='&lt;link rel=preconnect href=URL>'></iframe>",
    "frames": "<frameset><frame src=URL><noframes>seen here</noframes></frameset>",
    "objects": "<object data=URL></object><embed src=URL type=text/html>",
}
OTHERS = {
    "xhtml": Said(
        f'<html {XHTML}><head><title/><style/><link rel="preconnect" href="URL"/></head>'
        "<body>seen here</body></html>",
        kind="application/xhtml+xml",
    ),
    "entity": Said(
        "<!DOCTYPE html [<!ENTITY e \"&#60;link rel='preconnect' href='URL'/>\">]>"
        f"<html {XHTML}><body>&e;seen here</body></html>",
        kind="application/xhtml+xml",
    ),
    "prefix": Said(
        f'<h:r {XHTML.replace("=", ":h=")}><h:link rel="preconnect" href="URL"/>seen here</h:r>',
        kind="text/xml",
    ),
    "two_types": Said("<link rel=preconnect href=URL>", kind="text/plain, text/html"),
}
WIDE = {"utf-16be": "utf-16-be", "utf-16le": "utf-16-le", "gbk": "gbk"}


class Strangers:
    """Who listens and must never hear of anybody, one for each page."""

    def __init__(self, stack: ExitStack) -> None:
        self._stack = stack
        self.sockets: dict[str, socket.socket] = {}

    def url(self, name: str) -> str:
        listening = self._stack.enter_context(closing(socket.create_server(("127.0.0.2", 0))))
        listening.settimeout(PATIENCE_S)
        self.sockets[name] = listening
        return f"http://127.0.0.2:{listening.getsockname()[1]}/x"

    def called(self) -> list[str]:
        return [name for name, each in self.sockets.items() if _is_called(each)]


def _is_called(listening: socket.socket) -> bool:
    listening.setblocking(False)
    try:
        listening.accept()[0].close()
    except BlockingIOError:
        return False
    return True


class Crawled(NamedTuple):
    site: Site
    strangers: Strangers
    page: Served

    def show(self, look: Look, name: str) -> None:
        url = f"{self.site.url.removeprefix('http://')}{name}"
        look.page.goto(f"{self.page.address}/pages/page?url={quote(url, '')}")


def pages(strangers: Strangers) -> Mapping[str, Said]:
    """Each with headers that would do the same."""
    said = {name: Said(HTML_OF.format(each)) for name, each in IN_HTML.items()} | OTHERS
    for charset, codec in WIDE.items():
        text = HTML_OF.format(IN_HTML["ahead"]).replace("URL", strangers.url(charset))
        said[charset] = Said(text.encode(codec), kind=f"text/html; charset={charset}")
    found: dict[str, Said] = {}
    for name, each in said.items():
        url = strangers.url(f"{name}, by its text or a header")
        body = each.body.replace("URL", url) if isinstance(each.body, str) else each.body
        headers = (("Link", f"<{url}>; rel=preconnect"), ("Refresh", f"0; url={url}"))
        found[f"/{name}"] = each._replace(body=body, headers=headers)
    return found


@pytest.fixture(scope="module")
def crawled(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Crawled]:
    folder = tmp_path_factory.mktemp("copies") / "crawl"
    with ExitStack() as stack:
        strangers = Strangers(stack)
        there = pages(strangers)
        root = {"/": Said("".join(f"<a href={path}>x</a>" for path in there))}
        site = stack.enter_context(Site({**there, **root}))
        assert crawl(folder, "--seed", site.url, "--depth", 1) == 0
        page = stack.enter_context(serving(folder, "--state", folder / "state-pages"))
        yield Crawled(site, strangers, page)


def test_a_copy_is_read_and_nobody_hears_of_it(crawled: Crawled, tmp_path: Path) -> None:
    with eyes_at_home(crawled.page.full, tmp_path / "profile") as look:
        for name in (*IN_HTML, *OTHERS, *WIDE):
            crawled.show(look, name)
            seen = look.page.frame_locator("iframe.copy").locator("body")
            expect(seen).to_contain_text("of type" if name == "two_types" else "seen here")
            assert look.complaints() == [], name
        a_browser_that_connects_ahead(look, crawled)
        assert crawled.strangers.called() == []


def a_browser_that_connects_ahead(look: Look, crawled: Crawled) -> None:
    """It does, where nobody keeps it from that; so those before would have been called by now."""
    url = crawled.strangers.url("the last one")
    crawled.site.pages["/open"] = f"<link rel=preconnect href={url}>"
    look.page.goto(f"{crawled.site.url}open")
    crawled.strangers.sockets.pop("the last one").accept()[0].close()


def test_a_copy_has_no_header_of_its_server(crawled: Crawled) -> None:
    for name in ("ahead", "xhtml", "prefix", "utf-16le"):
        url = f"{crawled.site.url.removeprefix('http://')}{name}"
        sent = crawled.page.get(f"/pages/copy?url={quote(url, '')}").headers
        assert not {"link", "refresh"} & {*sent}
        assert sent["content-type"] in ("text/html; charset=utf-8", "text/plain; charset=utf-8")


@pytest.mark.parametrize("beginning", ["<", "<a ", "<a/", "<link ", "</"])
@pytest.mark.parametrize("kind", ["text/html", "application/xhtml+xml"])
def test_a_long_copy_costs_no_more_than_its_length(kind: str, beginning: str) -> None:
    body = (beginning + "a" * 2_000_000).encode() + beginning.encode() * 300_000
    begun = time.thread_time()
    assert not isinstance(inert(body, f"{kind}; charset=utf-8"), str)
    assert time.thread_time() - begun < 5


def test_what_is_no_text_of_its_charset_is_told() -> None:
    assert "no text in UTF-8" in str(inert(b"\xff\xa5" * 100, "text/html; charset=utf-8"))
