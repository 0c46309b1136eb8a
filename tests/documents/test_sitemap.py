"""Sitemaps as they come: well made, packed, broken, plain and meant to hurt."""

from __future__ import annotations

import gzip
import time

import pytest

from tools.documents.sitemap import MOST_ENTRIES, SitemapPage, read_sitemap

OPEN = (
    '<?xml version="1.0" encoding="UTF-8"?><urlset'
    ' xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"'
    ' xmlns:image="http://www.google.com/schemas/sitemap-image/1.1">'
)
ENTRY = (
    "<url><loc> http://h.example/a?b&amp;c#d\n</loc><lastmod>2020-01-01</lastmod>"
    "<image:image><image:loc>http://h.example/i.png</image:loc></image:image></url>"
)
WHOLE = f"{OPEN}{ENTRY}<url><loc>https://h.example</loc></url>{ENTRY}</urlset>"
FOUND = SitemapPage(["http://h.example/a?b&c", "https://h.example/"], [])


@pytest.mark.parametrize(
    "body",
    [
        WHOLE.encode(),
        b"\xef\xbb\xbf" + WHOLE.encode(),
        f" \n{WHOLE}".encode(),
        WHOLE.replace("UTF-8", "UTF-16").encode("utf-16"),
        WHOLE.replace("UTF-8", "ISO-8859-1").encode("latin-1"),
        WHOLE.replace("UTF-8", "no-such-thing").encode(),
        WHOLE.replace(' xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"', "").encode(),
        WHOLE.replace(' xmlns:image="http://www.google.com/', ' xmlns:x="').encode(),
        WHOLE.replace("&amp;", "&").encode(),
        WHOLE.replace("</urlset>", "").encode(),
        WHOLE.replace("<loc> ", "<loc><![CDATA[").replace("\n</loc>", "]]></loc>")
        .replace("&amp;", "&").encode(),
        WHOLE.replace("<loc> ", "<loc><![CDATA[").replace("\n</loc>", "]]></loc>")
        .replace("&amp;", "&").replace("</urlset>", "").encode(),
        WHOLE.replace("<urlset", "<!DOCTYPE urlset><urlset").encode(),
        gzip.compress(WHOLE.encode(), mtime=0),
        gzip.compress(WHOLE.encode(), mtime=0)[:-8],
        b"http://h.example/a?b&c\r\n\r\nhttps://h.example\nno address\n/a\n",
        "\ufeffhttp://h.example/a?b&c\nhttps://h.example".encode(),
        gzip.compress(b"http://h.example/a?b&c\nhttps://h.example", mtime=0),
    ],
)  # fmt: skip
def test_the_addresses_of_a_sitemap(body: bytes) -> None:
    assert read_sitemap(body, "application/xml") == FOUND


def test_further_sitemaps_of_an_index() -> None:
    index = (
        '<sitemapindex xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">'
        "<sitemap><loc>http://h.example/1.xml.gz</loc></sitemap>"
        "<sitemap><loc>/2.xml</loc></sitemap></sitemapindex>"
    )
    expected = SitemapPage([], ["http://h.example/1.xml.gz"])
    assert read_sitemap(index.encode()) == expected
    assert read_sitemap(index.replace("</sitemapindex>", "&").encode()) == expected


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"<",
        b"<html><body>404",
        b"\x1f\x8b",
        b"\x1f\x8bnot packed at all",
        b"\0" * 1000,
        b"\xff\xfe" * 999,
        b"%PDF-1.4",
        (
            OPEN + "<url><loc>" + "http://h.example/" + "x" * 10_000 + "</loc></url></urlset>"
        ).encode(),
        (OPEN + "<loc>http://h.example/</loc></urlset>").encode(),
    ],
)
def test_what_is_no_sitemap_has_no_addresses(body: bytes) -> None:
    assert read_sitemap(body) == SitemapPage([], [])


def test_no_entity_is_expanded() -> None:
    bomb = '<!DOCTYPE x [<!ENTITY a "http://h.example/b"><!ENTITY f SYSTEM "file:///etc/passwd">]>'
    for entity in ("&a;", "&f;"):
        body = (
            f"{bomb}<urlset><url><loc>{entity}</loc></url><url><loc>http://c</loc></url></urlset>"
        )
        assert read_sitemap(body.encode()).addresses == ["http://c/"]


def lines(count: int) -> str:
    return "".join(f"<url><loc>http://h.example/{number}</loc></url>" for number in range(count))


@pytest.mark.parametrize("end", ["</urlset>", "&"])
def test_no_more_entries_than_the_format_allows(end: str) -> None:
    assert len(read_sitemap(f"{OPEN}{lines(60_000)}{end}".encode()).addresses) == MOST_ENTRIES


def test_no_more_is_unpacked_than_the_format_allows() -> None:
    body = b"http://h.example/a\n" + b"\n" * 50_000_000 + b"http://h.example/b"
    assert read_sitemap(gzip.compress(body, 1)).addresses == ["http://h.example/a"]


@pytest.mark.timeout(60)
@pytest.mark.parametrize(
    "body",
    [
        gzip.compress(b"\0" * 100_000_000, 1, mtime=0),
        gzip.compress(b"!\n" * 25_000_000, 1, mtime=0),
        (OPEN + "<url><loc>" + "x" * 10_000_000).encode(),
        (OPEN + "<a>" * 500_000).encode(),
        (OPEN + "<url " + " ".join(f'a{number}="1"' for number in range(100_000)) + ">").encode(),
        (OPEN + "<!--" + "-x" * 5_000_000).encode(),
        b'<!DOCTYPE x [<!ENTITY a "aaaaaaaaaa">'
        + b"".join(b'<!ENTITY a%d "%s">' % (n, b"&a%d;" % (n - 1) * 10) for n in range(1, 12))
        + b"]><urlset><url><loc>&a11;</loc></url></urlset>",
    ],
    ids=["zeros", "lines", "long", "deep", "attributes", "comment", "entities"],
)
def test_a_file_that_hurts_is_read_in_time(body: bytes) -> None:
    start = time.process_time()
    assert read_sitemap(body) == SitemapPage([], [])
    assert time.process_time() - start < 5
