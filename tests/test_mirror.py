"""The server over real sockets: shapes, clamps, errors, and what it does with rude clients."""

from __future__ import annotations

import json
import logging
import socket
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from http.client import HTTPConnection
from threading import Thread
from typing import Any
from urllib.parse import quote, urlsplit

import pytest

from tests.test_assertions import SLICE, WORLD
from tools.sample.assertions import Assertions
from tools.sample.mirror import Answer, ClientLimits, Handler, Mirror, html_error, wants_html

CONTEXT = ["http://api.conceptnet.io/ld/conceptnet5.7/context.ld.json"]
MORE = "There are more results. Follow the 'nextPage' link for more."
BROWSER = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"
ANSWERS = SLICE.parent / "answers"
beside_real_answers = pytest.mark.skipif(
    not SLICE.exists(), reason="the real answers are not beside this checkout"
)


@dataclass(frozen=True)
class Reply:
    status: int
    headers: Mapping[str, str]
    body: bytes

    def json(self) -> Any:
        return json.loads(self.body)


class Client:
    """One connection that is kept for all requests."""

    def __init__(self, url: str) -> None:
        address = urlsplit(url)
        self.connection = HTTPConnection(str(address.hostname), address.port, timeout=10)

    def get(self, target: str, method: str = "GET", body: Any = None, **headers: str) -> Reply:
        self.connection.request(method, target, body=body, headers=headers)
        response = self.connection.getresponse()
        return Reply(response.status, dict(response.getheaders()), response.read())

    def json(self, target: str) -> Any:
        reply = self.get(target)
        assert reply.status == 200
        assert reply.headers["Content-Type"] == "application/json"
        return reply.json()

    def close(self) -> None:
        self.connection.close()


def send_raw(url: str, request: bytes) -> bytes:
    """What comes back until the server hangs up."""
    address = urlsplit(url)
    with socket.create_connection((address.hostname, address.port), timeout=10) as connection:
        connection.sendall(request)
        return b"".join(iter(lambda: connection.recv(65_536), b""))


@pytest.fixture(scope="module")
def assertions() -> Assertions:
    return Assertions(WORLD)


@pytest.fixture(scope="module")
def url(assertions: Assertions) -> Iterator[str]:
    with Mirror(assertions) as mirror:
        yield mirror.url


@pytest.fixture
def client(url: str) -> Iterator[Client]:
    client = Client(url)
    yield client
    client.close()


@pytest.fixture(scope="module")
def real() -> Iterator[Client]:
    with Mirror(Assertions.open(SLICE)) as mirror:
        client = Client(mirror.url)
        yield client
        client.close()


# Pages


def test_it_listens_on_loopback_at_a_port_of_its_own(url: str) -> None:
    assert url.startswith("http://127.0.0.1:")
    assert urlsplit(url).port


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


@pytest.mark.parametrize("path", ["/c%2Fen%2Fdog", "/c/en%2Fdog", "/c/en/d%00og", "/c/en/dog%7F"])
def test_encoded_slashes_and_control_characters_in_a_path(client: Client, path: str) -> None:
    page = client.json(path)
    assert page["@id"] == "/c/en/dog"
    assert len(page["edges"]) == 8


def test_raw_utf8_in_a_path(url: str) -> None:
    request = "GET /c/en/naïve_waiter HTTP/1.1\r\nConnection: close\r\n\r\n".encode()
    assert "/c/en/café".encode() in send_raw(url, request)


def test_grouped_is_ignored(client: Client) -> None:
    assert client.json("/c/en/dog?grouped=true") == client.json("/c/en/dog")


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
def crowded() -> Iterator[Client]:
    lines = [WORLD[1].replace("/c/en/cat", f"/c/en/cat_{number}") for number in range(1_005)]
    with Mirror(Assertions(lines)) as mirror:
        client = Client(mirror.url)
        yield client
        client.close()


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


@pytest.mark.parametrize("path", ["/nope", "/c", "/c/", "/x/en/dog", "/related/c/en/dog", "/uri"])
def test_an_address_that_leads_nowhere_is_http_404(client: Client, path: str) -> None:
    reply = client.get(path)
    assert reply.status == 404
    assert reply.headers["Content-Type"] == "application/json"
    assert reply.json() == {
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
        ("//c/en/caf%C3%A9%0D%0Ax:y", "/c/en/caf%C3%A9x:y"),
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


class Crashing(Handler):
    def answer(self, path: str, query: Mapping[str, str]) -> Answer:
        if path == "/crash":
            raise RuntimeError("secret detail")
        return super().answer(path, query)


def test_a_crash_is_http_500_without_any_detail(
    assertions: Assertions, caplog: pytest.LogCaptureFixture
) -> None:
    with Mirror(assertions, handler=Crashing) as mirror:
        client = Client(mirror.url)
        with caplog.at_level(logging.ERROR):
            reply = client.get("/crash")
        assert client.json("/c/en/dog")["edges"]
        client.close()
    assert reply.status == 500
    assert reply.json() == {
        "@context": CONTEXT,
        "error": {"details": "Internal server error", "status": 500},
        "version": "5.8.1",
    }
    assert "secret detail" in caplog.text


class Silent(Handler):
    def send(self, answer: Answer) -> None:
        raise ValueError("cannot send")


def test_a_crash_while_sending_is_logged_and_ends_only_that_connection(
    assertions: Assertions, caplog: pytest.LogCaptureFixture
) -> None:
    with Mirror(assertions, handler=Silent) as mirror, caplog.at_level(logging.ERROR):
        assert send_raw(mirror.url, b"GET / HTTP/1.1\r\n\r\n") == b""
        assert send_raw(mirror.url, b"GET / HTTP/1.1\r\n\r\n") == b""
    assert "cannot send" in caplog.text


# Methods, browsers, headers


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH", "OPTIONS", "BREW"])
def test_other_methods_are_http_405_in_html(client: Client, method: str) -> None:
    reply = client.get("/c/en/dog", method=method, body=b"x" * 1000)
    assert (reply.status, reply.headers["Content-Type"]) == (405, "text/html; charset=utf-8")
    assert b"<title>405 Method Not Allowed</title>" in reply.body
    assert client.json("/c/en/dog")["edges"]


def test_head_has_the_headers_of_get_and_no_body(client: Client) -> None:
    head, get = client.get("/c/en/dog", method="HEAD"), client.get("/c/en/dog")
    assert head.body == b""
    assert head.headers["Content-Length"] == get.headers["Content-Length"] == str(len(get.body))


def test_nothing_follows_the_headers_of_head(url: str) -> None:
    answer = send_raw(url, b"HEAD /c/en/dog HTTP/1.1\r\nConnection: close\r\n\r\n")
    assert answer.endswith(b"\r\n\r\n")


def test_any_web_page_may_ask(client: Client) -> None:
    for path in ("/c/en/dog", "/nope", "//c/en/dog"):
        assert client.get(path).headers["Access-Control-Allow-Origin"] == "*"


def test_a_browser_gets_html_with_the_json_inside(client: Client) -> None:
    reply = client.get("/c/en/%3Cscript%3E", Accept=BROWSER)
    assert (reply.status, reply.headers["Content-Type"]) == (200, "text/html; charset=utf-8")
    assert b"<pre>{&quot;@context&quot;" in reply.body
    assert b"&lt;script&gt;" in reply.body
    assert b"<script>" not in reply.body
    assert client.get("/nope", Accept=BROWSER).status == 404


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


# Connections


def test_one_connection_serves_many_requests(client: Client) -> None:
    client.get("/c/en/dog")
    first = client.connection.sock
    for path in ("/c/en/cat", "/nope", "//c/en/dog", "/query"):
        client.get(path)
    assert client.connection.sock is first is not None


def test_pipelined_requests_are_answered_in_order(url: str) -> None:
    request = b"GET /c/en/cat HTTP/1.1\r\n\r\nGET /c/en/pet HTTP/1.1\r\nConnection: close\r\n\r\n"
    answers = send_raw(url, request)
    assert answers.count(b"HTTP/1.1 200 OK") == 2
    assert answers.index(b'"@id":"/c/en/cat","edges"') < answers.index(b'"/c/en/pet","edges"')


@pytest.mark.parametrize(
    "header",
    [b"Content-Length: 70000", b"Content-Length: -1", b"Transfer-Encoding: chunked"],
)
def test_a_body_nobody_will_read_ends_the_connection(url: str, header: bytes) -> None:
    answer = send_raw(url, b"GET / HTTP/1.1\r\n" + header + b"\r\n\r\n")
    assert b"Connection: close" in answer


@pytest.mark.parametrize(
    ("request_line", "status"),
    [
        (b"GET /" + b"x" * 65_531, b"414"),
        (b"GET / HTTP/1.1\r\n" + b"A: b\r\n" * 101, b"431"),
        (b"GET / HTTP/9.9\r\n\r\n", b"505"),
        (b"GET / <b> HTTP/1.1\r\n\r\n", b"400"),
    ],
)
def test_requests_without_measure_are_refused(url: str, request_line: bytes, status: bytes) -> None:
    answer = send_raw(url, request_line + b"\r\n")
    assert answer.startswith(b"HTTP/1.1 " + status)
    assert b"<b>" not in answer


class Impatient(Handler):
    timeout = 0.1


@pytest.mark.parametrize("beginning", [b"", b"GET /c/en", b"GET / HTTP/1.1\r\nHost: x"])
def test_a_silent_client_is_hung_up_on(assertions: Assertions, beginning: bytes) -> None:
    with Mirror(assertions, handler=Impatient) as mirror:
        assert send_raw(mirror.url, beginning) == b""


def test_a_dribbling_client_is_hung_up_on_although_it_never_pauses_long(
    assertions: Assertions,
) -> None:
    with Mirror(assertions, handler=Impatient) as mirror:
        address = urlsplit(mirror.url)
        with socket.create_connection((address.hostname, address.port)) as connection:
            connection.settimeout(0.01)
            assert sum(1 for _ in iter(lambda: dribble(connection), False)) < 1_000


def dribble(connection: socket.socket) -> bool:
    """Send one byte; is the server still listening?"""
    try:
        connection.send(b"G")
        return connection.recv(1) != b""
    except TimeoutError:
        return True
    except ConnectionError:
        return False


def test_closing_hangs_up_on_kept_connections_and_may_be_done_twice(
    assertions: Assertions,
) -> None:
    with Mirror(assertions) as mirror:
        client = Client(mirror.url)
        client.get("/")
        kept = client.connection.sock
        assert kept is not None
    assert kept.recv(1) == b""
    client.close()
    mirror.close()


def test_a_mirror_that_serves_from_a_thread_of_ours_can_be_closed(assertions: Assertions) -> None:
    mirror = Mirror(assertions)
    serving = Thread(target=mirror.serve_forever)
    serving.start()
    client = Client(mirror.url)
    assert client.get("/").status == 200
    client.close()
    mirror.close()
    serving.join(timeout=10)
    assert not serving.is_alive()


def test_a_mirror_that_never_served_can_be_closed(assertions: Assertions) -> None:
    Mirror(assertions).close()


# Limits


def test_without_limits_nobody_is_refused(client: Client) -> None:
    assert {client.get("/").status for _ in range(100)} == {200}


def test_the_request_too_many_is_http_429_in_html(assertions: Assertions) -> None:
    with Mirror(assertions, limits=[(2, 60.0), (100, 3600.0)]) as mirror:
        client = Client(mirror.url)
        replies = [client.get("/c/en/dog", Accept="application/json") for _ in range(3)]
        client.close()
    assert [reply.status for reply in replies] == [200, 200, 429]
    refusal = replies[2]
    assert refusal.headers["Content-Type"] == "text/html; charset=utf-8"
    assert "Retry-After" not in refusal.headers
    assert refusal.body.decode() == (
        '<!DOCTYPE HTML PUBLIC "-//W3C//DTD HTML 3.2 Final//EN">\n'
        "<title>429 Too Many Requests</title>\n"
        "<h1>Too Many Requests</h1>\n"
        "<p>2 per 1 minute</p>\n"
    )


def test_each_client_has_its_own_limit_and_gets_it_back_in_time() -> None:
    now = [1000.0]
    limits = ClientLimits([(1, 1.0), (2, 3600.0)], clock=lambda: now[0])
    assert limits.refusal("a") is None
    assert limits.refusal("a") == "1 per 1 second"
    assert limits.refusal("b") is None
    now[0] += 1.1
    assert limits.refusal("a") is None
    now[0] += 1.1
    assert limits.refusal("a") == "2 per 1 hour"
    now[0] += 3600
    assert limits.refusal("a") is None


def test_clients_long_gone_are_forgotten() -> None:
    now = [0.0]
    limits = ClientLimits([(1, 1.0)], clock=lambda: now[0])
    for number in range(3_000):
        now[0] += 0.01
        limits.refusal(str(number))
    assert len(limits._buckets) < 1_200


def test_requests_long_past_are_forgotten() -> None:
    now = [0.0]
    limits = ClientLimits([(5, 1.0)], clock=lambda: now[0])
    for _ in range(100):
        now[0] += 0.5
        limits.refusal("a")
    assert limits._buckets["a"].count() <= 5


def test_contradictory_limits_are_refused_at_once(assertions: Assertions) -> None:
    with pytest.raises(ValueError, match="rate list"):
        Mirror(assertions, limits=[(10, 60.0), (5, 3600.0)])


# The real server's answers


def real_answer(name: str) -> Any:
    return json.loads((ANSWERS / name).read_text(encoding="utf-8"))


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


@beside_real_answers
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
def test_pages_are_those_of_the_real_server(real: Client, target: str, name: str) -> None:
    assert_same_page(real.json(target), real_answer(name))


@beside_real_answers
def test_a_small_node_has_exactly_the_real_edges(real: Client) -> None:
    theirs = real_answer("node_small_no_view.json")["edges"]
    ours = real.json("/c/en/paws")["edges"]
    assert sorted(edge["@id"] for edge in ours) == sorted(edge["@id"] for edge in theirs)


@beside_real_answers
def test_edge_pages_are_those_of_the_real_server(real: Client) -> None:
    theirs = real_answer("edge_page.json")
    assert_same_edge(real.json(theirs["@id"]), theirs)
    missing = real_answer("edge_missing_404.json")
    assert real.json(missing["@id"]) == missing


@beside_real_answers
def test_errors_are_those_of_the_real_server(assertions: Assertions) -> None:
    with Mirror(assertions, handler=Crashing) as mirror:
        client = Client(mirror.url)
        assert client.get("/crash").json() == real_answer("error_500.json")
        client.close()
    refused = real_answer("rate_limited_429.json")
    ours = html_error(refused["status"], "600 per 1 minute")
    assert ours.body.decode() == refused["body"]
    assert ours.content_type == refused["headers"]["Content-Type"]
