r"""Writes a graph as N-Triples.

A concept is `<http://conceptnet.io/c/en/dog>`. A relation is a triple of two concepts and, as a
triple cannot bear a weight, an rdf:Statement under its own URI. A media file is a node with its
credits. Terms that others have defined are used where they fit, `urn:sheaf:` is for the rest.

What may not stand in an IRI is percent-encoded, `%` too, so decoding gives the URI of the graph.
Addresses of pages and files are IRIs if they are valid ones, else texts. Lists have no order.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from urllib.parse import quote

from ..add import Entity, Graph, Media, Relation
from ..graphs.copy import Part, Show, parts
from ..uri import is_external
from .tables import text_files

CONCEPTNET = "http://conceptnet.io"
OURS = "urn:sheaf:"
MEDIA = f"{OURS}media:"
RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
RDFS = "http://www.w3.org/2000/01/rdf-schema#"
XSD = "http://www.w3.org/2001/XMLSchema#"
TERMS = "http://purl.org/dc/terms/"
ELEMENTS = "http://purl.org/dc/elements/1.1/"  # the same words, for values that are texts
SCHEMA = "https://schema.org/"

OF_KIND = {"image": f"{SCHEMA}image", "audio": f"{SCHEMA}audio", "visual": f"{OURS}visual"}
OF_MEDIA = {
    "path": f"{OURS}path",
    "kind": f"{OURS}kind",
    "mime": f"{SCHEMA}encodingFormat",
    "sha256": f"{SCHEMA}sha256",
    "bytes": f"{OURS}bytes",
    "width": f"{SCHEMA}width",
    "height": f"{SCHEMA}height",
    "duration": f"{OURS}duration",
    "license": f"{ELEMENTS}rights",
    "license_url": f"{TERMS}license",
    "author": f"{ELEMENTS}creator",
    "page": f"{SCHEMA}url",
    "source": f"{SCHEMA}contentUrl",
    "provider": f"{OURS}provider",
    "title": f"{TERMS}title",
    "phash": f"{OURS}phash",
    "time": f"{OURS}time",
    "remark": f"{RDFS}comment",
}
ADDRESSES = frozenset({"license_url", "page", "source"})

# RFC 3987, without the spaces it allows: readers split lines there.
_PLANES = "".join(f"{chr(at)}-{chr(at + 0xFFFD)}" for at in range(0x10000, 0xE0000, 0x10000))
_PLAIN = rf"A-Za-z0-9\-._~!$&'()*+,;=:@/\u00a1-\ud7ff\uf900-\ufdcf\ufdf0-\uffef{_PLANES}"
_NOT_IN_PATH = re.compile(rf"[^{_PLAIN}]|\s")
_ADDRESS = re.compile(rf"https?://(?:(?!\s)[{_PLAIN}?#]|%[0-9A-Fa-f]{{2}})+")
_LANGUAGE = re.compile(r"[a-zA-Z]+(-[a-zA-Z0-9]+)*")
_ESCAPES = {
    **{code: f"\\u{code:04X}" for code in (*range(0x20), 0x7F)},
    **str.maketrans({"\n": r"\n", "\r": r"\r", "\t": r"\t", "\\": r"\\", '"': r"\""}),
}

Triple = tuple[str, str, str]


def write(graph: Graph, folder: Path, show: Show) -> None:
    with text_files(folder, ["graph.nt"]) as files:
        for part in parts(graph):
            files["graph"].writelines(f"{s} {p} {o} .\n" for s, p, o in _triples(part))
            show(part.size)


def _triples(part: Part) -> Iterator[Triple]:
    for entity in part.entities:
        yield from _entity(entity)
    for relation in part.relations:
        yield from _relation(relation)
    for owner, files in part.media.items():
        for media in files:
            yield from _media(owner, media)


def _entity(entity: Entity) -> Iterator[Triple]:
    subject = iri(entity.uri)
    yield subject, f"<{RDFS}label>", literal(entity.name, entity.language)
    yield subject, f"<{OURS}term>", iri(entity.term)
    names = {"language": f"{TERMS}language", "sense": f"{OURS}sense"}
    yield from _texts(subject, entity._asdict(), names)


def _relation(relation: Relation) -> Iterator[Triple]:
    start, type_, end = iri(relation.start), iri(f"/r/{relation.type}"), iri(relation.end)
    subject = iri(relation.uri)
    yield start, type_, end
    yield subject, f"<{RDF}type>", f"<{RDF}Statement>"
    yield from (
        (subject, f"<{RDF}{role}>", each)
        for role, each in (("subject", start), ("predicate", type_), ("object", end))
    )
    yield subject, f"<{OURS}weight>", literal(relation.weight)
    names = {
        "surface_text": f"{OURS}surfaceText",
        "license": f"{ELEMENTS}rights",
        "dataset": f"{OURS}dataset",
    }
    yield from _texts(subject, relation._asdict(), names)


def _media(owner: str, media: Media) -> Iterator[Triple]:
    subject = f"<{MEDIA}{_encoded(media.path)}>"
    yield iri(owner), f"<{OF_KIND[media.kind]}>", subject
    yield subject, f"<{RDF}type>", f"<{SCHEMA}MediaObject>"
    yield subject, f"<{SCHEMA}about>", iri(owner)
    yield from _texts(subject, media._asdict(), OF_MEDIA)


def _texts(
    subject: str, values: Mapping[str, object], names: Mapping[str, str]
) -> Iterable[Triple]:
    for field, predicate in names.items():
        value = values[field]
        if value is not None:
            is_address = field in ADDRESSES and _ADDRESS.fullmatch(str(value))
            yield subject, f"<{predicate}>", f"<{value}>" if is_address else literal(value)


def iri(uri: str) -> str:
    r"""
    >>> print(iri("/c/en/100%"), iri("/a/[/r/IsA/,/c/en/狗/,/c/en/b/]"))
    <http://conceptnet.io/c/en/100%25> <http://conceptnet.io/a/%5B/r/IsA/,/c/en/狗/,/c/en/b/%5D>
    >>> print(iri("http://example.org/a?b=c%20d"))
    <http://example.org/a?b=c%20d>
    """
    if is_external(uri) and _ADDRESS.fullmatch(uri):
        return f"<{uri}>"
    return f"<{CONCEPTNET}{'' if uri.startswith('/') else '/'}{_encoded(uri)}>"


def _encoded(text: str) -> str:
    return _NOT_IN_PATH.sub(lambda found: quote(found[0], safe=""), text)


def literal(value: object, language: str = "") -> str:
    r"""
    >>> print(literal('a "b"\n'), literal("dog", "en"), literal(0.5), literal(3))
    "a \"b\"\n" "dog"@en "0.5"^^<http://www.w3.org/2001/XMLSchema#double> "3"^^<http://www.w3.org/2001/XMLSchema#integer>
    """
    match value:
        case float():
            return f'"{value!r}"^^<{XSD}double>'
        case int():
            return f'"{value}"^^<{XSD}integer>'
    text, tag = str(value).translate(_ESCAPES), language.replace("_", "-")
    return f'"{text}"@{tag}' if _LANGUAGE.fullmatch(tag) else f'"{text}"'
