"""What the words in ConceptNet's pages mean: a JSON-LD context of our own.

Promise: with it every page is a graph of edges, nodes, relations and sources with addresses below
http://api.conceptnet.io. Where others have a word for something (labels, licences, pages of a
list) theirs is used; the rest are words of ConceptNet.
Unlike in the original, `language` is a property and not another name for `@language`: that belongs
to texts, and parsers take a node that has it for no node.
Limit: JSON-LD heeds `@base` only inside a document. Whoever loads the context by its address
resolves relative addresses against that of the page.
"""

from __future__ import annotations

from typing import Any

PATH = "/ld/conceptnet5.7/context.ld.json"
BASE = "http://api.conceptnet.io"
VOCABULARY = f"{BASE}/ld/conceptnet5.7/vocabulary#"


def _link(iri: str) -> dict[str, str]:
    """A word whose values are addresses, even where they are written as texts."""
    return {"@id": iri, "@type": "@id"}


def _links(iri: str) -> dict[str, str]:
    return {**_link(iri), "@container": "@set"}


CONTEXT: dict[str, Any] = {
    "@base": f"{BASE}/",
    "@vocab": VOCABULARY,
    "cc": "http://creativecommons.org/licenses/",
    "dcterms": "http://purl.org/dc/terms/",
    "hydra": "http://www.w3.org/ns/hydra/core#",
    "rdfs": "http://www.w3.org/2000/01/rdf-schema#",
    "void": "http://rdfs.org/ns/void#",
    "xsd": "http://www.w3.org/2001/XMLSchema#",
    **{word: VOCABULARY + word for word in ("Edge", "Node", "Relation", "Source")},
    **{word: _link(VOCABULARY + word) for word in ("start", "end", "rel", "node", "other", "term")},
    **{word: _link(VOCABULARY + word) for word in ("contributor", "process", "activity")},
    **{word: _links(VOCABULARY + word) for word in ("edges", "sources", "features", "related")},
    **{word: VOCABULARY + word for word in ("surfaceText", "sense_label", "symmetric", "feature")},
    **{word: VOCABULARY + word for word in ("site", "path", "site_available", "value", "version")},
    **{word: VOCABULARY + word for word in ("error", "details", "status", "paginatedProperty")},
    "weight": {"@id": f"{VOCABULARY}weight", "@type": "xsd:double"},
    "label": "rdfs:label",
    "language": "dcterms:language",
    "comment": "rdfs:comment",
    "dataset": _link("void:inDataset"),
    "license": _link("dcterms:license"),
    "PartialCollectionView": "hydra:PartialCollectionView",
    "view": _link("hydra:view"),
    "firstPage": _link("hydra:first"),
    "nextPage": _link("hydra:next"),
    "previousPage": _link("hydra:previous"),
}
