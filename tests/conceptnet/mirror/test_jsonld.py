"""The mirror's pages are JSON-LD: with its context they are a graph that others can read."""

from __future__ import annotations

import json
from typing import Any

import pytest
from rdflib import RDF, RDFS, Graph, Literal, Namespace, URIRef

from tests.conceptnet.index.test_index import WORLD
from tools.conceptnet.index.build import index_of
from tools.conceptnet.index.index import Index
from tools.conceptnet.mirror.browser import for_reader
from tools.conceptnet.mirror.mirror import Mirror
from tools.conceptnet.mirror.pages import answer_to
from tools.network.reply import parse_target

# rdflib's own parser uses what rdflib has declared outdated.
pytestmark = pytest.mark.filterwarnings("ignore:ConjunctiveGraph is:DeprecationWarning")

BASE = "http://api.conceptnet.io"
CN = Namespace(f"{BASE}/ld/conceptnet5.7/vocabulary#")
HYDRA = Namespace("http://www.w3.org/ns/hydra/core#")
DCTERMS = Namespace("http://purl.org/dc/terms/")
VOID = Namespace("http://rdfs.org/ns/void#")
CONTEXT = "/ld/conceptnet5.7/context.ld.json"
BROWSER = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"
DOG_IS_ANIMAL = URIRef(f"{BASE}/a/[/r/IsA/,/c/en/dog/,/c/en/animal/]")


@pytest.fixture(scope="module")
def assertions() -> Index:
    return index_of(WORLD)


def page(assertions: Index, target: str) -> Any:
    return json.loads(answer_to(assertions, *parse_target(target)).body)


def graph_of(assertions: Index, target: str) -> Graph:
    """What a page says, with the mirror's context in place of its address."""
    asked = page(assertions, target)
    assert asked["@context"] == [BASE + CONTEXT]
    inlined = asked | page(assertions, CONTEXT)
    return Graph().parse(data=json.dumps(inlined), format="json-ld")


def test_the_context_is_served_as_json_ld_even_to_a_browser(assertions: Index) -> None:
    answer = answer_to(assertions, *parse_target(CONTEXT))
    assert (answer.status, answer.content_type) == (200, "application/ld+json")
    assert for_reader(answer, BROWSER, {}) == answer
    assert set(json.loads(answer.body)) == {"@context"}


def test_a_page_is_a_graph_of_its_edges(assertions: Index) -> None:
    graph = graph_of(assertions, "/c/en/dog")
    edges = set(graph.objects(URIRef(f"{BASE}/c/en/dog"), CN.edges))
    assert {str(edge).removeprefix(BASE) for edge in edges} == {
        edge["@id"] for edge in page(assertions, "/c/en/dog")["edges"]
    }
    assert edges == set(graph.subjects(RDF.type, CN.Edge))
    assert len(edges) == 8


def test_an_edge_has_its_ends_its_relation_and_where_it_is_from(assertions: Index) -> None:
    graph = graph_of(assertions, "/c/en/dog")

    def said(word: URIRef) -> set[str]:
        return {str(each) for each in graph.objects(DOG_IS_ANIMAL, word)}

    assert said(CN.start) == {f"{BASE}/c/en/dog"}
    assert said(CN.end) == {f"{BASE}/c/en/animal"}
    assert said(CN.rel) == {f"{BASE}/r/IsA"}
    assert said(CN.weight) == {"4.0"}
    assert said(CN.surfaceText) == {"[[a dog]] is [[an animal]]"}
    assert said(DCTERMS.license) == {"http://creativecommons.org/licenses/by/4.0"}
    assert said(VOID.inDataset) == {f"{BASE}/d/conceptnet/4/en"}
    source = next(graph.objects(DOG_IS_ANIMAL, CN.sources))
    assert (source, RDF.type, CN.Source) in graph
    assert (source, CN.contributor, URIRef(f"{BASE}/s/contributor/omcs/ann")) in graph


def test_nodes_have_labels_terms_and_senses(assertions: Index) -> None:
    graph = graph_of(assertions, "/c/en/dog")
    canine = URIRef(f"{BASE}/c/en/canine/n/wn/animal")
    assert (canine, RDF.type, CN.Node) in graph
    assert [str(each) for each in graph.objects(canine, RDFS.label)] == ["canine"]
    assert (canine, CN["term"], URIRef(f"{BASE}/c/en/canine")) in graph
    assert (canine, DCTERMS.language, Literal("en")) in graph
    assert (canine, CN.sense_label, Literal("n, animal")) in graph
    outside = URIRef("http://dbpedia.org/resource/Guide_dog")
    assert (outside, CN.site, Literal("dbpedia.org")) in graph


def test_the_pages_of_a_list_are_linked(assertions: Index) -> None:
    graph = graph_of(assertions, "/c/en/dog?limit=3&offset=3")
    view = next(graph.objects(URIRef(f"{BASE}/c/en/dog"), HYDRA.view))
    assert (view, RDF.type, HYDRA.PartialCollectionView) in graph
    for word, offset in ((HYDRA.first, 0), (HYDRA.previous, 0), (HYDRA.next, 6)):
        assert (view, word, URIRef(f"{BASE}/c/en/dog?offset={offset}&limit=3")) in graph


@pytest.mark.parametrize(
    "target",
    [
        "/",
        "/query?rel=/r/IsA",
        "/c/en/zzzz",
        "/c/en/dog?grouped=true",
        "/a/[/r/IsA/,/c/en/dog/,/c/en/animal/]",
        "/uri?language=en&text=dog",
        "/nope",
    ],
)
def test_no_word_of_a_page_is_without_a_meaning(assertions: Index, target: str) -> None:
    known = page(assertions, CONTEXT)["@context"]
    used = {word for word in words(page(assertions, target)) if not word.startswith("@")}
    assert used <= {*known, "rdfs:comment"}
    graph_of(assertions, target)


def words(value: Any) -> set[str]:
    if isinstance(value, list):
        return {word for each in value for word in words(each)}
    if not isinstance(value, dict):
        return set()
    return {*value, *(word for each in value.values() for word in words(each))}


def test_a_client_that_is_sent_to_the_mirror_finds_the_context(assertions: Index) -> None:
    with Mirror(assertions) as mirror:
        remote = page(assertions, "/c/en/dog") | {"@context": mirror.url + CONTEXT}
        graph = Graph().parse(data=json.dumps(remote), format="json-ld", publicID=f"{BASE}/")
    assert (DOG_IS_ANIMAL, CN.end, URIRef(f"{BASE}/c/en/animal")) in graph
