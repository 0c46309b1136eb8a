"""Records as rows for the statements: in JSON, without characters that a database refuses."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from typing import Any, TypeVar

import orjson
import zstandard

from ..base.text import storable
from .page import Analysed, Fetched, HostNews, Link
from .statements import HOST, HOST_ADDED, PAGES_BITS, Columns
from .table import Word

LONGEST_WORD = 2000  # bytes; PostgreSQL's indexes take little more
SCHEME = "https://"
_PACK = zstandard.ZstdCompressor(level=1)
_UNPACK = zstandard.ZstdDecompressor()

T = TypeVar("T")


def as_json(rows: Any) -> str:
    text = _exact_json(rows)
    return orjson.dumps(_clean(rows), default=str).decode() if text is None else text


def _exact_json(rows: Any) -> str | None:
    """None if there may be something to be cleaned; nearly never, so it is looked for in the
    whole."""
    try:
        text = orjson.dumps(rows, default=str).decode()
    except TypeError:  # half of a pair of surrogates
        return None
    return None if "\\u0000" in text else text


def _clean(value: Any) -> Any:
    if isinstance(value, str):
        return storable(value)
    if isinstance(value, Mapping):
        return {storable(str(key)): _clean(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_clean(each) for each in value]
    return value


def firsts(records: Iterable[T]) -> tuple[dict[str, T], set[str]]:
    """By url; of two with the same the first counts, the others are named."""
    found: dict[str, T] = {}
    others = set()
    for each in records:
        url: str = each.url  # type: ignore[attr-defined]
        if found.setdefault(url, each) is not each:
            others.add(url)
    return found, others


def by_columns(records: Iterable[object], columns: Columns) -> list[list[Any]]:
    names = list(columns)
    return [[getattr(each, name) for name in names] for each in records]


# --- links -----------------------------------------------------------------------------------


def analysed_row(page: Analysed) -> list[Any]:
    sub_urls = as_json(list(dict.fromkeys(link.url for link in page.links)))
    extra = None if page.extra is None else as_json(dict(page.extra))
    counted = sum(page.words.values()) if page.words else None
    return [
        *(page.url, page.charset, page.remark, sub_urls),
        *(counted, page.title, page.canonical, extra),
    ]


def special_links(links: Sequence[Link]) -> str | None:
    """What `sub_urls` do not say: the scheme of the first, unless it is https; by its number among
    the distinct ones, all of each that is more than `<a href>` to that scheme and its url; and what
    leads to one of them a second time, in another way."""
    start = f"{links[0].address.partition('://')[0]}://" if links else SCHEME
    special: dict[str, object] = {} if start == SCHEME else {"scheme": start}
    again: list[list[object]] = []
    numbers: dict[str, int] = {}
    for url, address, kind, nofollow in links:
        if url in numbers:
            again.append([numbers[url], address, kind, nofollow])
            continue
        numbers[url] = at = len(numbers)
        if kind != "a" or nofollow or address != start + url:
            special[str(at)] = [address, kind, nofollow]
    if again:
        special["again"] = again
    return as_json(special) if special else None


def read_links(sub_urls: str, special: str | None) -> list[Link]:
    more = orjson.loads(special) if special else {}
    start = more.get("scheme", SCHEME)
    urls = orjson.loads(sub_urls)
    links = [Link(url, *(more.get(str(at)) or (start + url,))) for at, url in enumerate(urls)]
    return links + [Link(urls[at], *link) for at, *link in more.get("again", ())]


# --- words -----------------------------------------------------------------------------------


Words = Mapping[str, int]


def storable_words(words: Words) -> tuple[Words, str]:
    """Them and their JSON. Nearly always they stay as they are; else without what no index takes,
    and two that are the same when cleaned are one."""
    if not words or max(map(len, words)) <= LONGEST_WORD // 4:
        text = _exact_json(words)
        if text is not None:
            return words, text
    cleaned: Counter[str] = Counter()
    for word, count in words.items():
        cleaned[storable(word)] += count
    kept = {word: count for word, count in cleaned.items() if _is_indexable(word)}
    return kept, as_json(kept)


def _is_indexable(word: str) -> bool:
    return 0 < len(word.encode()) <= LONGEST_WORD


def summed_up(pages: Sequence[Words]) -> str:
    """By word one number that holds how often it occurs and on how many pages: SQLite takes the
    members of an object apart in half the time of small lists."""
    on_pages = Counter(chain.from_iterable(pages))
    counts = dict(on_pages)
    for words in pages:
        for word, count in words.items():
            if count > 1:  # few do
                counts[word] += count - 1
    return as_json({word: count << PAGES_BITS | on_pages[word] for word, count in counts.items()})


def with_uncounted(counted: Iterable[Word], pages: Sequence[Words]) -> list[Word]:
    """All of the table, with those of pages that are not in it yet; the most frequent first."""
    counts, on_pages = Counter[str](), Counter[str]()
    for each in counted:
        counts[each.word], on_pages[each.word] = each.count, each.pages
    for words in pages:
        counts.update(words)
        on_pages.update(words.keys())
    found = [Word(word, count, on_pages[word]) for word, count in counts.items()]
    return sorted(found, key=lambda each: (-each.count, each.word))


def packed(text: str) -> bytes:
    return _PACK.compress(text.encode())


def unpacked(counts: bytes) -> dict[str, int]:
    words: dict[str, int] = orjson.loads(_UNPACK.decompress(counts))
    return words


# --- hosts -----------------------------------------------------------------------------------


def host_rows(news: Iterable[HostNews]) -> list[list[Any]]:
    """One for each host: numbers summed up, of the rest the last that is said."""
    by_name: dict[str, dict[str, Any]] = {}
    for each in news:
        known = by_name.setdefault(each.name, dict.fromkeys(HOST) | dict.fromkeys(HOST_ADDED, 0))
        for name in HOST:
            value = getattr(each, name)
            if name in HOST_ADDED:
                known[name] += value
            elif value is not None:
                known[name] = value
    return [list(each.values()) for each in by_name.values()]


def without_analysis(page: Fetched) -> Analysed:
    """What a final one is: fetched and analysed at once."""
    return Analysed(url=page.url, links=page.links)
