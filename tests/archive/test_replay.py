"""Our folder is served by pywb as the pages were: packed ones, refused ones, revisits."""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from urllib.parse import quote

import pytest
import urllib3

from tests.archive.replay import replayed
from tests.archive.scene import HTML, TIME, answer, archive_in
from tools.archive.cdxj import FILE, Capture, timestamp, write_index
from tools.archive.record import Earlier, Exchange, pack, payload_digest

PAGES = {
    "http://example.org/": b"<p>first",
    "https://www.example.org:8443/a/B?x=1&b=%20": b"<p>port",
    "http://example.org/caf%C3%A9/": "<p>café".encode(),
    "http://[2001:db8::1]/six": b"<p>six",
    "http://example.org/large": b"<p>" + b"0123456789" * 50_000,
}
PACKED = "http://example.org/packed"
MOVED = "http://example.org/moved"
LATER = TIME + timedelta(days=1)
LATEST = datetime(2026, 7, 1, tzinfo=UTC)


def exchanges() -> Iterator[tuple[Exchange, Earlier | None]]:
    for address, payload in PAGES.items():
        yield answer(address, payload, [HTML, ("Transfer-Encoding", "chunked")]), None
    coding = ("Content-Encoding", "gzip")
    yield answer(PACKED, gzip.compress(b"<p>packed"), [HTML, coding]), None
    yield answer(MOVED, b"", [("Location", "http://example.org/")], 301), None
    yield answer("http://example.org/none", b"<p>none", [HTML], 404), None
    first = Earlier("http://example.org/", TIME, payload_digest(b"<p>first"))
    yield answer("http://example.org/copy", b"<p>first", [HTML], time=LATER), first
    yield answer("http://example.org/", b"", [("ETag", "x")], 304, LATEST), first


@pytest.fixture(scope="module")
def web(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("replay")
    archive, captures = archive_in(folder / "archive"), []
    for sent, earlier in exchanges():
        packed = pack(sent, earlier=earlier)
        place = archive.append(urllib3.util.parse_url(sent.address).host or "", packed)[0]
        captures.append(
            Capture(sent.address, sent.time, sent.status, packed.mime, packed.digest, place)
        )
    archive.close()
    write_index(folder / "archive" / FILE, captures)
    with replayed(folder / "archive", folder) as web:
        yield web


def asked(web: str, address: str, time: datetime = TIME) -> urllib3.BaseHTTPResponse:
    """As it was, without anything that pywb adds for people."""
    url = f"{web}/{timestamp(time)}id_/{quote(address, safe=':/?&=%[]')}"
    return urllib3.request("GET", url, timeout=60, redirect=False, retries=False)


@pytest.mark.parametrize("address", PAGES)
def test_a_page_is_what_it_was(web: str, address: str) -> None:
    found = asked(web, address)
    assert (found.status, found.data) == (200, PAGES[address])


def test_a_packed_page_is_unpacked(web: str) -> None:
    assert asked(web, PACKED).data == b"<p>packed"


def test_what_was_refused_or_elsewhere_is_so_again(web: str) -> None:
    assert asked(web, "http://example.org/none").status == 404
    moved = asked(web, MOVED)
    assert moved.status == 301 and moved.headers["Location"].endswith("http://example.org/")


def test_a_revisit_shows_the_page_it_refers_to(web: str) -> None:
    copy = asked(web, "http://example.org/copy", LATER)
    assert (copy.status, copy.data) == (200, b"<p>first")


def test_an_answer_that_said_not_modified_says_it_again(web: str) -> None:
    """And does not hide the page that it speaks of."""
    assert asked(web, "http://example.org/", LATEST).status == 304
    assert asked(web, "http://example.org/", LATER).data == b"<p>first"


def test_what_was_never_kept_is_not_found(web: str) -> None:
    assert asked(web, "http://example.org/never").status == 404
