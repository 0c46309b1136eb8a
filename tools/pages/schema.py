"""The tables behind the pages of a crawl; a `Dialect` puts in what its database calls the types."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from ..errors import UsageError
from .page import Capture, Host, Page

SCHEMA = """
CREATE TABLE IF NOT EXISTS pages (
    id {serial},
    url {name} NOT NULL UNIQUE,
    domain {text} NOT NULL,
    state {int} NOT NULL DEFAULT 0,
    remark {text},
    paths {text} NOT NULL,
    sub_urls {text},
    fetched_at {moment},
    created_at {moment} NOT NULL,
    updated_at {moment} NOT NULL,
    address {text} NOT NULL,
    depth {int} NOT NULL,
    status {int},
    content_type {text},
    charset {text},
    bytes {int},
    title {text},
    digest {text},
    etag {text},
    last_modified {text},
    canonical {text},
    redirect {text},
    words {int},
    extra {text}
){strict};
CREATE TABLE IF NOT EXISTS captures (
    id {serial},
    page {int},
    address {text} NOT NULL,
    time {text} NOT NULL,
    status {int},
    mime {text},
    digest {text},
    file {name} NOT NULL,
    "offset" {int} NOT NULL,
    length {int} NOT NULL,
    kind {text} NOT NULL,
    UNIQUE (file, "offset")
){strict};
CREATE INDEX IF NOT EXISTS captures_page ON captures (page);
CREATE INDEX IF NOT EXISTS captures_digest ON captures (digest) WHERE kind = 'response';
CREATE TABLE IF NOT EXISTS hosts (
    name {name} PRIMARY KEY,
    scheme {text},
    robots {text},
    robots_at {real},
    crawl_delay {real},
    pages {int} NOT NULL,
    failures {int} NOT NULL,
    bytes {int} NOT NULL,
    seconds {real} NOT NULL,
    rests_until {real},
    reason {text}
){strict};
CREATE TABLE IF NOT EXISTS words (
    word {name} PRIMARY KEY,
    count {int} NOT NULL,
    pages {int} NOT NULL
){keyed};
CREATE TABLE IF NOT EXISTS page_words (page {key}, counts {blob} NOT NULL){strict};
CREATE TABLE IF NOT EXISTS uncounted (page {key}){strict};
CREATE TABLE IF NOT EXISTS page_links (page {key}, links {text} NOT NULL){strict};
CREATE TABLE IF NOT EXISTS files (
    name {name} PRIMARY KEY,
    bytes {int} NOT NULL,
    sha256 {text},
    closed_at {text},
    shipped_at {text}
){keyed};
CREATE TABLE IF NOT EXISTS harvest (id {name} PRIMARY KEY){keyed};
"""
FILE = {
    "name": "text",
    "bytes": "int",
    "sha256": "text",
    "closed_at": "text",
    "shipped_at": "text",
}
TABLES: Mapping[str, Sequence[str]] = {
    "pages": ("id", *Page._fields),
    "captures": ("id", "page", *Capture._fields),
    "hosts": Host._fields,
    "words": ("word", "count", "pages"),
    "page_words": ("page", "counts"),
    "uncounted": ("page",),
    "page_links": ("page", "links"),
    "files": tuple(FILE),
    "harvest": ("id",),
}
"""Ours, each with its columns; the words of pages in uncounted are not in words yet; page_links has
what `sub_urls`, which are the seed's, cannot say."""


def require_own(name: str, found: Iterable[tuple[str, str]]) -> None:
    """`found` are tables and columns that were in this database before ours."""
    there: dict[str, set[str]] = {}
    for table, column in found:
        there.setdefault(table, set()).add(column)
    for table, columns in TABLES.items():
        if table in there and not there[table].issuperset(columns):
            raise UsageError(
                f"{name} has a table {table} that is not one of ours: name another database"
            )
