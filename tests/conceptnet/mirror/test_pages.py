"""What the server says, without a network: shapes, clamps, errors, and the original's answers."""

from __future__ import annotations

import html
import json
import re
from base64 import b64encode
from collections.abc import Callable
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from tests.conceptnet.index.test_index import WORLD, line
from tests.support.slices import answer_beside, any_slice
from tools.conceptnet.index.build import index_of, open_index
from tools.conceptnet.index.index import Index
from tools.conceptnet.mirror.browser import for_reader, wants_html
from tools.conceptnet.mirror.pages import answer_to, json_error
from tools.network.reply import Reply, html_error, parse_target

CONTEXT = ["http://api.conceptnet.io/ld/conceptnet5.7/context.ld.json"]
MORE = "There are more results. Follow the 'nextPage' link for more."
BROWSER = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"


class Client:
    """Asks the pages themselves."""

    def __init__(self, assertions: Index) -> None:
        self.assertions = assertions

    def get(self, target: str) -> Reply:
        return answer_to(self.assertions, *parse_target(target))

    def json(self, target: str) -> Any:
        answer = self.get(target)
        assert (answer.status, answer.content_type) == (200, "application/json")
        return json.loads(answer.body)


@pytest.fixture(scope="module")
def client() -> Client:
    return Client(index_of(WORLD))


@pytest.fixture(scope="module")
def indexes(tmp_path_factory: pytest.TempPathFactory) -> Callable[[Path], Client]:
    """Over a slice; each is made once."""
    home = tmp_path_factory.mktemp("indexes")
    return cache(lambda path: Client(open_index(path, None, home=home / path.name)))


@pytest.fixture
def real(indexes: Callable[[Path], Client], path: Path) -> Client:
    return indexes(path)


# Nodes and edges


def test_a_node_page_that_fits_has_no_view(client: Client) -> None:
    page = client.json("/c/en/dog")
    assert set(page) == {"@context", "@id", "edges", "version"}
    assert (page["@context"], page["@id"], page["version"]) == (CONTEXT, "/c/en/dog", "5.8.1")
    assert len(page["edges"]) == 8
    assert page["edges"][0]["@id"] == "/a/[/r/IsA/,/c/en/dog/,/c/en/animal/]"


def test_first_middle_and_last_page_of_a_node(client: Client) -> None:
    views = [client.json(f"/c/en/dog?offset={offset}&limit=3")["view"] for offset in (0, 3, 6)]
    shared = {
        "@type": "PartialCollectionView",
        "firstPage": "/c/en/dog?offset=0&limit=3",
        "paginatedProperty": "edges",
    }
    assert views == [
        {
            **shared,
            "@id": "/c/en/dog?offset=0&limit=3",
            "nextPage": "/c/en/dog?offset=3&limit=3",
            "comment": MORE,
        },
        {
            **shared,
            "@id": "/c/en/dog?offset=3&limit=3",
            "previousPage": "/c/en/dog?offset=0&limit=3",
            "nextPage": "/c/en/dog?offset=6&limit=3",
            "comment": MORE,
        },
        {
            **shared,
            "@id": "/c/en/dog?offset=6&limit=3",
            "previousPage": "/c/en/dog?offset=3&limit=3",
        },
    ]


def test_previous_page_does_not_go_below_zero(client: Client) -> None:
    view = client.json("/c/en/dog?offset=2&limit=3")["view"]
    assert view["previousPage"] == "/c/en/dog?offset=0&limit=3"


def test_following_next_page_brings_every_edge_once(client: Client) -> None:
    found, target = [], "/c/en/dog?limit=3"
    while target:
        page = client.json(target)
        found += [edge["@id"] for edge in page["edges"]]
        target = page.get("view", {}).get("nextPage", "")
    assert found == [edge["@id"] for edge in client.json("/c/en/dog")["edges"]]


@pytest.mark.parametrize(
    ("path", "count"),
    [
        ("/c/en", 15),
        ("/r/IsA", 4),
        ("/r/dbpedia/genre", 1),
        ("/d/wordnet", 1),
        ("/d/conceptnet/4/en", 13),
        ("/s/resource/verbosity", 1),
        ("/c/en/dog/", 8),
        ("/c/en/cat's_cradle", 1),
        ("/c/en/na%C3%AFve_waiter", 1),
        ("/c/en/dog/n/wn", 1),
    ],
)
def test_nodes_relations_datasets_and_sources(client: Client, path: str, count: int) -> None:
    assert len(client.json(path)["edges"]) == count


@pytest.mark.parametrize("path", ["/c%2Fen%2Fdog", "/c/en%2Fdog"])
def test_encoded_slashes_in_a_path(client: Client, path: str) -> None:
    page = client.json(path)
    assert page["@id"] == "/c/en/dog"
    assert len(page["edges"]) == 8


def test_only_a_null_character_is_overlooked(client: Client) -> None:
    page = client.json("/c/en/d%00og")
    assert (page["@id"], len(page["edges"])) == ("/c/en/d\0og", 8)
    for odd in ("%1f", "%7f", "%0a", "%09"):
        assert client.json(f"/c/en/do{odd}g")["error"]["status"] == 404
        assert client.json(f"/query?start=/c/en/do{odd}g")["edges"] == []


def test_control_characters_in_an_edge_or_ahead_of_groups_are_overlooked(client: Client) -> None:
    assert "error" not in client.json("/a/[/r/Antonym/,/c/en/c%1fat/,/c/en/dog/]")
    assert client.json("/c/en/d%1fog?grouped=true")["features"]


def test_a_source_that_nobody_can_be_is_a_page_without_edges(client: Client) -> None:
    assert client.json("/s/%1a")["edges"] == []


# Grouped


def test_a_grouped_page_tells_of_the_node_and_of_its_features(client: Client) -> None:
    page = client.json("/c/en/dog?grouped=true")
    features = page.pop("features")
    assert page == {
        "@context": CONTEXT,
        "@id": "/c/en/dog",
        "@type": "Node",
        "label": "dog",
        "language": "en",
        "term": "/c/en/dog",
        "version": "5.8.1",
    }
    assert [each["@id"] for each in features] == [
        "/query?rel=/r/IsA&start=/c/en/dog",
        "/query?rel=/r/Synonym&node=/c/en/dog",
        "/query?rel=/r/ExternalURL&start=/c/en/dog",
        "/query?rel=/r/Antonym&node=/c/en/dog",
        "/query?rel=/r/DistinctFrom&node=/c/en/dog",
        "/query?rel=/r/RelatedTo&node=/c/en/dog",
    ]
    assert features[0]["feature"] == {"rel": "/r/IsA", "start": "/c/en/dog"}
    assert [each["symmetric"] for each in features] == [False, True, False, True, True, True]
    assert all("view" not in each for each in features)


def test_the_features_of_a_page_hold_what_their_queries_find(client: Client) -> None:
    features = client.json("/c/en/dog?grouped=true")["features"]
    for each in features:
        edges = [{key: edge[key] for key in edge if key != "other"} for edge in each["edges"]]
        assert edges == client.json(each["@id"])["edges"]
    assert sum(len(each["edges"]) for each in features) == 8


def test_an_edge_between_two_senses_is_in_both_features() -> None:
    lines = [line("/r/HasA", "/c/en/dog/n", "/c/en/dog/v"), line("/r/HasA", "/c/en/x", "/c/en/dog")]
    features = Client(index_of(lines)).json("/c/en/dog?grouped=true")["features"]
    assert {each["@id"]: len(each["edges"]) for each in features} == {
        "/query?rel=/r/HasA&end=/c/en/dog": 2,
        "/query?rel=/r/HasA&start=/c/en/dog": 1,
    }


def test_a_feature_with_more_edges_says_where_they_are(client: Client, crowded: Client) -> None:
    feature = client.json("/c/en/animal?grouped=true&limit=0")["features"][0]
    assert feature["edges"] == []
    feature = crowded.json("/c/en/dog?grouped=true&limit=1000")["features"][0]
    assert len(feature["edges"]) == 100
    assert feature["view"]["nextPage"] == (
        "/query?rel=/r/Antonym&node=/c/en/dog&offset=100&limit=100"
    )
    more = crowded.json(feature["view"]["nextPage"])["edges"]
    assert not {edge["@id"] for edge in more} & {edge["@id"] for edge in feature["edges"]}
    assert len(crowded.json("/c/en/dog?grouped=true")["features"][0]["edges"]) == 20


def test_a_missing_node_and_a_relation_cannot_be_grouped(client: Client) -> None:
    missing = client.json("/c/en/no_such?grouped=true")
    assert missing["error"] == {"details": "'no such' is not a node in ConceptNet.", "status": 404}
    assert (missing["@id"], "features" in missing) == ("/c/en/no_such", False)
    assert client.json("/r/IsA?grouped=true")["error"]["status"] == 400


def test_an_edge_in_a_group_tells_which_end_is_the_other_one(client: Client) -> None:
    features = client.json("/c/en/dog?grouped=true")["features"]
    others = {
        (edge["start"]["@id"], edge["end"]["@id"]): edge["other"]
        for each in features
        for edge in each["edges"]
    }
    assert others["/c/en/dog", "/c/en/animal"]["label"] == "an animal"
    assert others["/c/en/cat", "/c/en/dog"]["@id"] == "/c/en/cat"
    assert others["/c/en/dog", "/c/en/dog/v"]["@id"] == "/c/en/dog/v"
    assert others["/c/fr/chien", "/c/en/dog/n"]["@id"] == "/c/fr/chien"


def test_groups_are_ordered_by_one_edge_more_than_is_shown_then_by_direction_and_relation() -> None:
    lines = [
        line("/r/UsedFor", "/c/en/dog", "/c/en/a", 3.0),
        line("/r/IsA", "/c/en/dog", "/c/en/b", 2.0),
        line("/r/IsA", "/c/en/dog", "/c/en/c", 1.5),
        line("/r/HasA", "/c/en/dog", "/c/en/d", 1.0),
        line("/r/DerivedFrom", "/c/en/dog", "/c/en/e", 1.0),
        line("/r/Synonym", "/c/en/dog", "/c/en/f", 1.0),
        line("/r/PartOf", "/c/en/g", "/c/en/dog", 1.0),
    ]
    page = Client(index_of(lines)).json("/c/en/dog?grouped=true&limit=1")
    assert [each["feature"]["rel"] for each in page["features"]] == [
        *("/r/IsA", "/r/UsedFor", "/r/PartOf", "/r/Synonym", "/r/DerivedFrom", "/r/HasA"),
    ]
    assert [len(each["edges"]) for each in page["features"]] == [1] * 6
    assert [each["feature"]["rel"] for each in page["features"] if "view" in each] == ["/r/IsA"]


@pytest.mark.parametrize("grouped", ["True", "TRUE", "tRue"])
def test_true_may_be_written_in_any_case(client: Client, grouped: str) -> None:
    assert client.json(f"/c/en/dog?grouped={grouped}") == client.json("/c/en/dog?grouped=true")


def test_an_edge_and_a_language_cannot_be_grouped(client: Client) -> None:
    error = client.json("/a/[/r/Antonym/,/c/en/cat/,/c/en/dog/]?grouped=true")["error"]
    assert (error["status"], error["details"]) == (
        400,
        "Only concept nodes (starting with /c/) can be grouped by feature.",
    )
    language = client.json("/c/en?grouped=true")
    assert language["error"] == {"details": "'en' is not a node in ConceptNet.", "status": 404}
    assert (language["label"], "features" in language) == ("en", False)


@pytest.mark.parametrize("grouped", ["false", "", "1"])
def test_only_true_groups(client: Client, grouped: str) -> None:
    assert client.json(f"/c/en/dog?grouped={grouped}") == client.json("/c/en/dog")


@pytest.mark.parametrize("path", ["/related/c/en/dog", "/related/list/en/a,b@-1", "/relatedness"])
def test_what_needs_word_embeddings_is_refused_in_words(client: Client, path: str) -> None:
    answer = client.get(f"{path}?node1=/c/en/dog&node2=/c/en/cat")
    error = json.loads(answer.body)["error"]
    assert (answer.status, error["status"]) == (404, 404)
    assert "needs word embeddings" in error["details"]


EDGE = "/a/[/r/IsA/,/c/en/washington,_d.c/,/c/en/city/n/]"
EXTERNAL = "/a/[/r/ExternalURL/,/c/en/dog/,/http://dbpedia.org/resource/Guide_dog/]"


@pytest.mark.parametrize("uri", [EDGE, EXTERNAL])
@pytest.mark.parametrize("safe", ["/[],:", "/", ""])
def test_an_edge_page_is_the_edge_itself(client: Client, uri: str, safe: str) -> None:
    page = client.json("/" + quote(uri[1:], safe=safe))
    assert page["@id"] == uri
    assert set(page) == {
        *("@context", "@id", "@type", "dataset", "end", "license", "rel", "sources", "start"),
        *("surfaceText", "version", "weight"),
    }


def test_the_root_points_to_the_documentation(client: Client) -> None:
    page = client.json("/")
    assert set(page) == {"@context", "rdfs:comment"}


def test_keys_are_sorted_and_letters_not_escaped(client: Client) -> None:
    body = client.get("/c/en/caf%C3%A9").body
    assert "/c/en/café".encode() in body
    assert list(json.loads(body)) == sorted(json.loads(body))


# Queries


@pytest.mark.parametrize("endpoint", ["/query", "/search", "/query/"])
def test_a_query_names_itself_in_the_order_it_was_asked(client: Client, endpoint: str) -> None:
    page = client.json(f"{endpoint}?rel=/r/IsA&node=/c/en/dog&unknown=1&dataset=/d/x&uri=/c/en/x")
    assert page["@id"] == "/query?rel=/r/IsA&node=/c/en/dog&uri=/c/en/x"
    assert len(page["edges"]) == 2
    assert set(page) == {"@context", "@id", "edges", "version"}


def test_the_view_of_a_query_sorts_its_parameters(client: Client) -> None:
    page = client.json("/query?start=/c/en/dog&rel=/r/ExternalURL&limit=1&offset=1")
    assert page["view"] == {
        "@id": "/query?rel=/r/ExternalURL&start=/c/en/dog&offset=1&limit=1",
        "@type": "PartialCollectionView",
        "firstPage": "/query?rel=/r/ExternalURL&start=/c/en/dog&offset=0&limit=1",
        "paginatedProperty": "edges",
        "previousPage": "/query?rel=/r/ExternalURL&start=/c/en/dog&offset=0&limit=1",
    }


def test_no_criteria_is_everything(client: Client) -> None:
    page = client.json("/query")
    assert page["@id"] == "/query"
    assert len(page["edges"]) == len(WORLD)


def test_the_first_of_a_repeated_parameter_wins(client: Client) -> None:
    page = client.json("/query?start=/c/en/pet&start=/c/en/dog&limit=5&limit=x")
    assert page["@id"] == "/query?start=/c/en/pet"
    assert len(page["edges"]) == 1


def test_encoded_values_and_control_characters_in_a_query(client: Client) -> None:
    page = client.json("/query?start=%2Fc%2Fen%2Fna%C3%AFve%00_waiter")
    assert len(page["edges"]) == 1


def test_a_query_past_the_end_or_without_a_match_is_no_error(client: Client) -> None:
    past = client.json("/query?start=/c/en/dog&offset=90000")
    assert (past["edges"], "error" in past, "nextPage" in past["view"]) == ([], False, False)
    assert set(client.json("/query?start=/c/en/zzzz")) == {"@context", "@id", "edges", "version"}


# Clamps. A page of 1,005 edges shows the defaults and the maximum.


@pytest.fixture(scope="module")
def crowded() -> Client:
    lines = [WORLD[1].replace("/c/en/cat", f"/c/en/cat_{number}") for number in range(1_005)]
    return Client(index_of(lines))


@pytest.mark.parametrize(
    ("parameters", "shown", "node_view"),
    [
        ("", (20, 50), "offset=0&limit=20"),
        ("limit=7", (7, 7), "offset=0&limit=7"),
        ("limit=1001", (1000, 1000), "offset=0&limit=1000"),
        ("limit=99999999999999999999", (1000, 1000), "offset=0&limit=1000"),
        ("limit=0", (0, 0), "offset=0&limit=0"),
        ("limit=-5", (0, 0), "offset=0&limit=0"),
        ("limit=many", (20, 50), "offset=0&limit=20"),
        ("limit=", (20, 50), "offset=0&limit=20"),
        ("limit=1.5", (20, 50), "offset=0&limit=20"),
        ("limit=" + "9" * 5000, (20, 50), "offset=0&limit=20"),
        ("offset=-1", (20, 50), "offset=0&limit=20"),
        ("offset=x", (20, 50), "offset=0&limit=20"),
        ("offset=1000", (5, 5), "offset=1000&limit=20"),
        ("offset=100001", (0, 0), "offset=100000&limit=20"),
    ],
)
def test_numbers_out_of_range_are_clamped_and_nonsense_is_the_default(
    crowded: Client, parameters: str, shown: tuple[int, int], node_view: str
) -> None:
    node = crowded.json(f"/c/en/dog?{parameters}")
    query = crowded.json(f"/query?end=/c/en/dog&{parameters}")
    assert (len(node["edges"]), len(query["edges"])) == shown
    assert node["view"]["@id"] == f"/c/en/dog?{node_view}"


def test_limit_zero_points_to_itself(client: Client) -> None:
    page = client.json("/c/en/dog?limit=0")
    assert page["edges"] == []
    assert "error" not in page
    assert page["view"]["nextPage"] == page["view"]["@id"] == "/c/en/dog?offset=0&limit=0"


# Errors


def test_a_missing_node_is_http_200(client: Client) -> None:
    assert client.json("/c/en/zzzzqqqq") == {
        "@context": CONTEXT,
        "@id": "/c/en/zzzzqqqq",
        "edges": [],
        "error": {"details": "'/c/en/zzzzqqqq' is not a node in ConceptNet.", "status": 404},
        "version": "5.8.1",
    }


def test_names_are_case_sensitive(client: Client) -> None:
    assert client.json("/c/en/Dog")["error"]["status"] == 404


def test_a_page_past_the_end_claims_there_is_no_node(client: Client) -> None:
    page = client.json("/c/en/dog?offset=20")
    assert page["error"] == {"details": "'/c/en/dog' is not a node in ConceptNet.", "status": 404}
    assert page["view"]["previousPage"] == "/c/en/dog?offset=0&limit=20"
    assert "nextPage" not in page["view"]


def test_a_missing_edge_is_http_200(client: Client) -> None:
    uri = "/a/[/r/IsA/,/c/en/dog/,/c/en/zzzz/]"
    assert client.json(uri) == {
        "@context": CONTEXT,
        "@id": uri,
        "error": {"details": f"'{uri}' is not an assertion in ConceptNet.", "status": 404},
        "version": "5.8.1",
    }


@pytest.mark.parametrize("path", ["/nope", "/c", "/c/", "/x/en/dog", "/related", "/uris"])
def test_an_address_that_leads_nowhere_is_http_404(client: Client, path: str) -> None:
    reply = client.get(path)
    assert reply.status == 404
    assert reply.content_type == "application/json"
    assert json.loads(reply.body) == {
        "@context": CONTEXT,
        "error": {"details": f"'{path}' isn't a URL that we understand.", "status": 404},
        "version": "5.8.1",
    }


@pytest.mark.parametrize(
    ("target", "location"),
    [
        ("//c/en/dog", "/c/en/dog"),
        ("/c//en/dog?limit=3", "/c/en/dog?limit=3"),
        ("//query?start=/c/en/dog", "/query?start=%2Fc%2Fen%2Fdog"),
        ("//c/en/caf%C3%A9%0D%0Ax:y", "/c/en/caf%C3%A9%0D%0Ax:y"),
        ("//c/[a],b", "/c/[a],b"),
    ],
)
def test_doubled_slashes_ahead_of_the_uri_redirect(
    client: Client, target: str, location: str
) -> None:
    reply = client.get(target)
    assert (reply.status, reply.headers["Location"]) == (308, location)
    assert client.get(location).status == 200


def test_doubled_slashes_inside_the_uri_are_part_of_it(client: Client) -> None:
    assert client.json("/c/http://dbpedia.org/x")["@id"] == "/c/http://dbpedia.org/x"


def test_doubled_slashes_that_lead_nowhere_are_http_404(client: Client) -> None:
    assert client.get("//evil.example/x").status == 404


# Browsers


@pytest.mark.parametrize(
    ("accept", "query", "is_html"),
    [
        (BROWSER, {}, True),
        (BROWSER, {"format": "json"}, False),
        ("", {"format": "html"}, True),
        ("", {}, False),
        ("*/*", {}, False),
        ("application/json, text/plain, */*", {}, False),
        ("text/html", {}, True),
        ("text/*", {}, True),
        ("Text/HTML", {}, True),
        ("text/plain", {}, False),
        ("text/html, application/json", {}, False),
        ("text/html;q=0.5, application/ld+json;q=0.4", {}, True),
        ("text/html;q=nonsense", {}, True),
    ],
)
def test_who_wants_html(accept: str, query: dict[str, str], is_html: bool) -> None:
    assert wants_html(accept, query) is is_html


def in_browser(client: Client, target: str) -> Reply:
    path, query = parse_target(target)
    return for_reader(answer_to(client.assertions, path, query), BROWSER, query)


def test_a_browser_reads_the_same_json_with_links(client: Client) -> None:
    shown = in_browser(client, "/c/en/dog?limit=3")
    text = shown.body.decode()
    pre = text.partition("<pre>")[2].partition("</pre>")[0]
    plain = html.unescape(re.sub("<[^>]*>", "", pre))
    assert json.loads(plain) == client.json("/c/en/dog?limit=3")
    assert plain.count("\n") > 50
    links = re.findall('<a href="([^"]*)">', pre)
    assert {"/c/en/animal", "/r/IsA"} <= set(links)
    assert "/c/en/dog?offset=3&amp;limit=3" in links
    for link in set(links) - {each for each in links if each.startswith("http")}:
        assert "error" not in client.json(html.unescape(link))
    assert not [each for each in links if each.startswith("/and/")]


def test_in_a_browser_nothing_runs() -> None:
    evil = "/c/en/<script>alert(1)</script>\"onclick='x'&amp;"
    lines = [
        line("/r/IsA", evil, "/c/en/x", surfaceText="</pre><script>alert(2)</script>"),
        line("/r/ExternalURL", evil, 'http://x.org/"><script>y</script>'),
        line("/r/ExternalURL", evil, "https:javascript:alert(3)").replace("https:j", "https://j"),
    ]
    client = Client(index_of(lines))
    shown = in_browser(client, "/" + quote(evil[1:]))
    assert b"<script" not in shown.body
    assert shown.body.count(b"</pre>") == 1
    for link in re.findall("<a ([^>]*)>", shown.body.decode()):
        assert re.fullmatch('href="(?:/|https?://)[^"]*"', link), link
    policy = shown.headers["Content-Security-Policy"]
    assert policy.startswith("default-src 'none'; style-src 'sha256-")
    style = shown.body.partition(b"<style>")[2].partition(b"</style>")[0]
    assert b64encode(sha256(style).digest()).decode() in policy


def test_others_get_the_json_byte_for_byte(client: Client) -> None:
    answer = client.get("/c/en/dog")
    for accept in ("", "*/*", "application/json"):
        assert for_reader(answer, accept, {}) is answer


# The real server's answers


def assert_same_page(ours: Any, theirs: Any) -> None:
    """All but the edges is equal; edges that both show are equal up to the dump's rounding."""
    assert ours.keys() == theirs.keys()
    assert {**ours, "edges": []} == {**theirs, "edges": []}
    our_edges = {edge["@id"]: edge for edge in ours["edges"]}
    shared = [edge for edge in theirs["edges"] if edge["@id"] in our_edges]
    assert shared or not theirs["edges"]
    for edge in shared:
        assert_same_edge(our_edges[edge["@id"]], edge)


def assert_same_edge(ours: Any, theirs: Any) -> None:
    assert ours["weight"] == pytest.approx(theirs["weight"], abs=0.000_6)
    assert {**ours, "weight": 0} == {**theirs, "weight": 0}


@any_slice
@pytest.mark.parametrize(
    ("target", "name"),
    [
        ("/c/en/dog?limit=3", "node_dog_limit3.json"),
        ("/c/en/dog?offset=3&limit=3", "node_dog_limit3_off3.json"),
        ("/c/en/dog?limit=0", "node_dog_limit0.json"),
        ("/c/en/dog?offset=90000", "node_dog_offset_past_end.json"),
        ("/c/en/zzzzqqqq", "node_missing_404_is_http200.json"),
        ("/c/en/paws", "node_small_no_view.json"),
        ("/c/http://dbpedia.org/resource/Dog", "external_url_node.json"),
        ("/query?start=/c/en/zzzz", "query_no_match.json"),
    ],
)
def test_pages_are_those_of_the_real_server(
    real: Client, path: Path, target: str, name: str
) -> None:
    assert_same_page(real.json(target), answer_beside(path, name))


@any_slice
def test_a_small_node_has_exactly_the_real_edges(real: Client, path: Path) -> None:
    theirs = answer_beside(path, "node_small_no_view.json")["edges"]
    ours = real.json("/c/en/paws")["edges"]
    assert sorted(edge["@id"] for edge in ours) == sorted(edge["@id"] for edge in theirs)


@any_slice
def test_edge_pages_are_those_of_the_real_server(real: Client, path: Path) -> None:
    theirs = answer_beside(path, "edge_page.json")
    assert_same_edge(real.json(theirs["@id"]), theirs)
    missing = answer_beside(path, "edge_missing_404.json")
    assert real.json(missing["@id"]) == missing


@any_slice
def test_errors_are_those_of_the_real_server(path: Path) -> None:
    ours = json.loads(json_error(500, "Internal server error").body)
    assert ours == answer_beside(path, "error_500.json")
    refused = answer_beside(path, "rate_limited_429.json")
    limited = html_error(refused["status"], "600 per 1 minute")
    assert limited.body.decode() == refused["body"]
    assert limited.content_type == refused["headers"]["Content-Type"]
