"""What is said to a database about pages, in words that SQLite and PostgreSQL share.

Both understand the same statements but for the marks of parameters, the names of types and how a
list comes in; a `Dialect` puts those in. A list is one JSON value: a statement for each row would
cost more than all the rest. Only our own constants are put into a text; data are parameters.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache

from .page import Capture, Host, Page
from .schema import FILE

Columns = Mapping[str, str]
"""Names with their types: text, int, real, moment."""

_PARAMETER = re.compile(r":(?=[a-z])(\w+)")


@dataclass(frozen=True, slots=True, eq=False)
class Dialect:
    """`words` are put in for the names in braces; `mark` is how a parameter is written."""

    words: Mapping[str, str]
    mark: str = r":\1"

    @cache  # noqa: B019  there are two of them
    def said(self, statement: str) -> str:
        return _PARAMETER.sub(self.mark, statement.format_map(self.words))


ADMITTED = {"url": "text", "domain": "text", "address": "text", "depth": "int", "paths": "text"}
SUNK = {"url": "text", "depth": "int", "paths": "text"}
FETCHED = {
    "url": "text",
    "stale_before": "moment",
    "fetched_at": "moment",
    "address": "text",
    "status": "int",
    "content_type": "text",
    "charset": "text",
    "bytes": "int",
    "digest": "text",
    "etag": "text",
    "last_modified": "text",
    "redirect": "text",
    "remark": "text",
}
UNCHANGED = {"url": "text", "fetched_at": "moment"}
ANALYSED = {
    "url": "text",
    "charset": "text",
    "remark": "text",
    "sub_urls": "text",
    "words": "int",
    "title": "text",
    "canonical": "text",
    "extra": "text",
}
FAILED = {
    "url": "text",
    "stale_before": "moment",
    "remark": "text",
    "status": "int",
    "fetched_at": "moment",
}
CAPTURE = {
    **dict.fromkeys(("page", *Capture._fields), "text"),
    **dict.fromkeys(("page", "status", "offset", "length"), "int"),
}
HOST_SET = {
    "scheme": "text",
    "robots": "text",
    "robots_at": "real",
    "crawl_delay": "real",
    "rests_until": "real",
    "reason": "text",
}
HOST_ADDED = {"pages": "int", "failures": "int", "bytes": "int", "seconds": "real"}
HOST = {"name": "text", **HOST_SET, **HOST_ADDED}
PAGE_LINKS = {"page": "int", "links": "text"}
NOW = "CAST(:now AS {moment})"
MOMENTS = ("fetched_at", "created_at", "updated_at")
PAGES_BITS = 20  # of a number that holds a count and so many pages at most
PAGE = 500  # rows read at once: they are long


def quoted(name: str) -> str:
    """
    >>> quoted("offset"), quoted("file")
    ('"offset"', 'file')
    """
    return f'"{name}"' if name == "offset" else name


def _rows(columns: Columns) -> str:
    """The parameter `rows`, a list of lists, as a table `new`."""
    fields = ", ".join(
        f"CAST(value ->> {at} AS {{{kind}}}) AS {quoted(name)}"
        for at, (name, kind) in enumerate(columns.items())
    )
    return f"(SELECT {fields} FROM {{each}}) AS new"


def _listed(kind: str) -> str:
    """The parameter `rows`, a list of texts or numbers."""
    return f"(SELECT CAST({{element}} AS {{{kind}}}) FROM {{each}})"


def _insert(table: str, columns: Columns, now: Sequence[str], conflict: str) -> str:
    """`now` are columns that get the present moment."""
    names = [quoted(name) for name in (*columns, *now)]
    values = [quoted(name) for name in columns] + [NOW for _ in now]
    return (
        f"INSERT INTO {table} ({', '.join(names)}) SELECT {', '.join(values)} "
        f"FROM {_rows(columns)} WHERE true ON CONFLICT {conflict}"
    )


def _upsert(
    table: str,
    columns: Columns,
    key: Sequence[str],
    kept: Sequence[str] = (),
    added: Sequence[str] = (),
) -> str:
    """What is `kept` is not overwritten by nothing, what is `added` is summed up."""

    def value(name: str) -> str:
        new, old = f"excluded.{quoted(name)}", f"{table}.{quoted(name)}"
        if name in kept:
            return f"coalesce({new}, {old})"
        return f"{old} + {new}" if name in added else new

    sets = [f"{quoted(name)} = {value(name)}" for name in columns if name not in key]
    keys = ", ".join(quoted(name) for name in key)
    return _insert(table, columns, (), f"({keys}) DO UPDATE SET {', '.join(sets)}")


def _update(columns: Columns, which: str, also: str = "", kept: Sequence[str] = ()) -> str:
    """Of pages, by url; answers the ids and urls of those that were changed."""
    sets = [
        f"{name} = coalesce(new.{name}, pages.{name})" if name in kept else f"{name} = new.{name}"
        for name in columns
        if name not in ("url", "stale_before")
    ]
    return (
        f"UPDATE pages SET {also} updated_at = {NOW}, {', '.join(sets)} FROM {_rows(columns)} "
        f"WHERE pages.url = new.url AND {which} RETURNING pages.id, pages.url"
    )


# --- by the writer ---------------------------------------------------------------------------


FIRST_STAYS = "(pages.state <> 1 OR pages.fetched_at < new.stale_before)"

ADMIT = _insert("pages", ADMITTED, ("created_at", "updated_at"), "(url) DO NOTHING")
SINK = _update(SUNK, "true")
FETCH = _update(FETCHED, FIRST_STAYS, "state = 0,")
TOUCH = _update(UNCHANGED, "pages.state = 1 AND pages.fetched_at < new.fetched_at")
ANALYSE = _update(ANALYSED, "pages.state <> 1", "state = 1,", kept=("charset", "remark"))
FAIL = _update(FAILED, FIRST_STAYS, "state = 2,", kept=("status", "fetched_at"))
WRITE_CAPTURES = _upsert("captures", CAPTURE, ("file", "offset"))
WRITE_LINKS = _upsert("page_links", PAGE_LINKS, ("page",))
DELETE_LINKS = f"DELETE FROM page_links WHERE page IN {_listed('int')}"
WRITE_FILES = _upsert("files", FILE, ("name",), kept=("sha256", "closed_at", "shipped_at"))
LENGTHEN_FILES = f"""INSERT INTO files (name, bytes)
    SELECT name, bytes FROM {_rows({"name": "text", "bytes": "int"})} WHERE true
    ON CONFLICT (name) DO UPDATE SET bytes = excluded.bytes WHERE excluded.bytes > files.bytes"""
WRITE_HOSTS = _upsert("hosts", HOST, ("name",), kept=tuple(HOST_SET), added=tuple(HOST_ADDED))
COUNT_WORDS = f"""INSERT INTO words (word, count, pages)
    SELECT key, number >> {PAGES_BITS}, number & {(1 << PAGES_BITS) - 1} FROM {{members}}
    WHERE true ON CONFLICT (word) DO UPDATE
    SET count = words.count + excluded.count, pages = words.pages + excluded.pages"""
PUT_OFF_WORDS = "INSERT INTO uncounted (page) SELECT CAST({element} AS {int}) FROM {each}"
ALL_COUNTED = "DELETE FROM uncounted"
TAKE_OFF_WORDS = COUNT_WORDS.replace(" + excluded", " - excluded")
DELETE_WORDS = "DELETE FROM words WHERE count <= 0 AND word IN (SELECT key FROM {members})"
DELETE_PAGE_WORDS = f"DELETE FROM page_words WHERE page IN {_listed('int')}"
CLAIM = "INSERT INTO harvest VALUES (:id)"
LOSE_CAPTURES = """DELETE FROM captures WHERE file = :file AND "offset" + length > :bytes
    RETURNING page"""
READ_END = 'SELECT max("offset" + length) FROM captures WHERE file = :file'
REOPEN_FILE = """UPDATE files SET bytes = :bytes, sha256 = NULL, closed_at = NULL, shipped_at = NULL
    WHERE name = :file"""
LOSE_FILE = "DELETE FROM files WHERE name = :file"
LOSE_PAGES = f"""UPDATE pages SET state = 0, fetched_at = NULL, updated_at = {NOW}
    WHERE id IN {_listed("int")} RETURNING url"""

# --- by anybody ------------------------------------------------------------------------------

_PAGE = ", ".join(f"{{{name}}}" if name in MOMENTS else name for name in Page._fields)
_LINKING = """SELECT id, url, depth, address, sub_urls, links FROM pages
    LEFT JOIN page_links ON page_links.page = pages.id WHERE sub_urls IS NOT NULL"""
_CAPTURE = ", ".join(f"captures.{quoted(name)}" for name in Capture._fields)
_HOST = f"SELECT {', '.join(Host._fields)} FROM hosts WHERE name"

READ_OWNER = "SELECT id FROM harvest"
READ_PATHS = f"SELECT url, depth, paths FROM pages WHERE url IN {_listed('text')}"
READ_PATHS_OF = "SELECT paths FROM pages WHERE url = :url"
READ_PAGE_WORDS = f"SELECT page, counts FROM page_words WHERE page IN {_listed('int')}"
READ_KNOWN = f"SELECT url, state, depth, {{fetched_at}} FROM pages WHERE url IN {_listed('text')}"
READ_PAGE = f"SELECT {_PAGE} FROM pages WHERE url = :url"
READ_PAGES = f"""SELECT {_PAGE} FROM pages
    WHERE url > :after AND url >= :first AND url < :last ORDER BY url LIMIT {PAGE}"""
READ_FIRST = f"SELECT {_PAGE} FROM pages WHERE state > 0 ORDER BY depth, id LIMIT :most"
READ_LARGEST = """SELECT url, bytes FROM pages WHERE bytes IS NOT NULL
    ORDER BY bytes DESC, url LIMIT :most"""
READ_LINKS = f"{_LINKING} AND url = :url"
READ_LINKING = f"{_LINKING} AND id > :after AND depth <= :depth ORDER BY id LIMIT {PAGE}"
READ_CAPTURES = f"""SELECT {_CAPTURE} FROM captures JOIN pages ON pages.id = captures.page
    WHERE url = :url ORDER BY captures.id"""
READ_CAPTURES_IN = f"""SELECT url, {_CAPTURE} FROM captures
    LEFT JOIN pages ON pages.id = captures.page
    WHERE file = :file AND "offset" > :after ORDER BY "offset" LIMIT {PAGE}"""
# Of each page the latest: whoever reads them in this order never sees an older one after it.
READ_LATEST = f"""SELECT captures.id, url, {_CAPTURE} FROM captures
    JOIN pages ON pages.id = captures.page
    WHERE captures.id > :after AND captures.kind IN ('response', 'revisit')
    AND captures.status BETWEEN 200 AND 299 AND NOT EXISTS (
        SELECT 1 FROM captures AS later WHERE later.page = captures.page AND later.id > captures.id
        AND later.kind IN ('response', 'revisit') AND later.status BETWEEN 200 AND 299)
    ORDER BY captures.id LIMIT {PAGE}"""
READ_DIGEST = f"""SELECT {_CAPTURE} FROM captures WHERE digest = :digest AND kind = 'response'
    ORDER BY id LIMIT 1"""
READ_FILES = f"SELECT {', '.join(FILE)} FROM files ORDER BY name"
READ_HOST = f"{_HOST} = :name"
READ_HOSTS = f"{_HOST} > :after ORDER BY name LIMIT {PAGE}"
# In one statement: amid two of them words might be counted, and found twice or not at all.
READ_WORDS = f"""SELECT word, count, pages, counts FROM (
        SELECT word, count, pages, CAST(NULL AS {{blob}}) AS counts FROM words
        ORDER BY count DESC, word
        LIMIT CASE WHEN EXISTS (SELECT 1 FROM uncounted) THEN {1 << 62} ELSE :top END) AS counted
    UNION ALL SELECT NULL, NULL, NULL, counts FROM uncounted JOIN page_words USING (page)"""
READ_UNCOUNTED = "SELECT counts FROM uncounted JOIN page_words USING (page)"
READ_WORDS_OF = "SELECT counts FROM page_words JOIN pages ON id = page WHERE url = :url"
READ_COUNTS = [
    f"""SELECT {name}, count(*) FROM pages WHERE {name} IS NOT NULL AND {which}
    GROUP BY {name} ORDER BY 2 DESC, 1"""
    for name, which in (
        *((name, "true") for name in ("state", "depth", "domain", "status", "content_type")),
        ("remark", "state = 2"),
    )
]
