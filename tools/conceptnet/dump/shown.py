"""An assertion as the web API shows it: made of a row once, kept by an index, and read again.

Promise: what `line_of` holds is the web API's JSON with its keys in order; whoever keeps it need
not know the row any more.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import orjson

from ...add import Relation
from ...uri import is_external, label
from ..rules import relation_name
from .row import Row, as_json

_DEAD_SITES = frozenset({"sw.opencyc.org", "umbel.org", "wikidata.dbpedia.org"})


class Edge(NamedTuple):
    """In UTF-8. In a line they stand between tabs: none of them can have one inside."""

    start: bytes
    end: bytes
    shown: bytes  # JSON

    @property
    def said(self) -> dict[str, Any]:
        found: dict[str, Any] = orjson.loads(self.shown)
        return found

    def is_at(self, node: bytes) -> bool:
        """Does it begin or end at a node, or at one of its senses?"""
        return is_below(node, self.start) or is_below(node, self.end)


def is_below(node: bytes, uri: bytes) -> bool:
    return uri.startswith(node) and uri[len(node) : len(node) + 1] in (b"", b"/")


def line_of(row: Row) -> bytes:
    """Of the edge. Put together from texts that many share, quicker than from dictionaries."""
    uri, rel, start, end, info = row
    dataset, license, sources, last = info.shown
    line = (
        f'{start}\t{end}\t{{"@id":"{_escaped(uri)}","@type":"Edge","dataset":{dataset},'
        f'"end":{_node(end, info.end)},"license":{license},"rel":{_relation(rel)},'
        f'"sources":{sources},"start":{_node(start, info.start)},{last}}}'
    )
    return line.encode()


def relation_in(edge: Edge) -> Relation:
    said = edge.said
    return Relation(
        said["@id"],
        relation_name(said["rel"]["@id"]),
        said["start"]["@id"],
        said["end"]["@id"],
        said["weight"],
        said["surfaceText"],
        said["license"],
        said["dataset"],
    )


@lru_cache(maxsize=256)
def _relation(rel: str) -> str:
    return as_json({"@id": rel, "@type": "Relation", "label": label(rel)})


@lru_cache(maxsize=4096)
def _node(uri: str, surface: str | None = None) -> str:
    """One end of an edge. No escape has a slash or an underscore: it may be made before a cut."""
    if is_external(uri):
        return as_json(_page(uri, surface))
    escaped = _escaped(uri)
    _, _, language, *words = escaped.split("/", 4)
    name = words[0].replace("_", " ") if words else language
    shown = name if surface is None else _escaped(surface)
    term, sense = escaped, ""
    if len(words) > 1:
        term = f"/c/{language}/{words[0]}"
        sense = f'"sense_label":"{_sense_label(words[1])}",'
    return (
        f'{{"@id":"{escaped}","@type":"Node","label":"{shown}",'
        f'"language":"{language}",{sense}"term":"{term}"}}'
    )


def node(uri: str) -> dict[str, Any]:
    shown: dict[str, Any] = orjson.loads(_node(uri))
    return shown


def _escaped(text: str) -> str:
    """As it stands between quotes in JSON; most texts are as they are."""
    if text.isprintable() and '"' not in text and "\\" not in text:
        return text
    return as_json(text)[1:-1]


def _page(uri: str, surface: str | None) -> dict[str, Any]:
    """Of another site."""
    address = urlsplit(uri)
    return {
        "@id": uri,
        "@type": "Node",
        "label": label(uri) if surface is None else surface,
        "path": address.path,
        "site": address.netloc,
        "site_available": address.netloc not in _DEAD_SITES,
        "term": uri,
    }


def _sense_label(meaning: str) -> str:
    """
    >>> _sense_label("n/wn/act"), _sense_label("n/wikt/en_1"), _sense_label("v")
    ('n, act', 'n', 'v')
    """
    part_of_speech, *rest = meaning.split("/")
    return f"{part_of_speech}, {rest[-1]}" if rest[:1] in (["wn"], ["wp"]) else part_of_speech
