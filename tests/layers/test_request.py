from __future__ import annotations

from random import Random
from typing import Any

import pytest

from tools.errors import GiveUp
from tools.layers.payload import MULTIPART, Encoding
from tools.layers.request import Request, identity_of, note_of, request_of

URL = "http://h.example/a"
LAYERS: list[str | int] = ["list", "7", 7, "ä"]


@pytest.mark.parametrize(
    ("request_", "identity"),
    [
        (
            Request("detail", url="HTTP://H.Example:80/p/TEA-1#x"),
            "detail GET http://h.example/p/TEA-1",
        ),
        (
            Request(1, "POST", URL, None, {"brand": "Oak", "page": 2}),
            f"1 POST {URL} brand=Oak&page=2",
        ),
        (
            Request(1, "POST", URL, None, {"page": 2, "brand": "Oak"}),
            f"1 POST {URL} brand=Oak&page=2",
        ),
        (Request(1, "POST", URL, None, {"brand": "Oak", "s": "x"}), f"1 POST {URL} brand=Oak"),
        (Request(1, "POST", URL, None, {"a": "x y", "b": "ä"}), f"1 POST {URL} a=x+y&b=%C3%A4"),
        (
            Request(1, "JSON", URL, None, {"b": [1], "s": 1, "a": "ä"}),
            f'1 JSON {URL} {{"a":"ä","b":[1]}}',
        ),
        (Request(1, "JSON", URL, None, None), f"1 JSON {URL} null"),
        (
            Request("a", url="http://h.example/%7e%c3%A4?b=2&a=%2f"),
            "a GET http://h.example/~%C3%A4?b=2&a=%2F",
        ),
        (Request("a", url="http://h.example"), "a GET http://h.example/"),
        (Request("a", url=URL, referer="http://r.example/"), f"a GET {URL}"),
        (Request("a", url=URL, carried={"x": 1}), f"a GET {URL}"),
    ],
)
def test_an_identity_is_read_by_people(request_: Request, identity: str) -> None:
    assert identity_of(request_, {"s"}) == identity


def test_a_long_payload_is_named_by_its_hash() -> None:
    short, long = (Request(1, "POST", URL, None, {"q": "x" * size}) for size in (198, 199))

    assert identity_of(short).endswith("q=" + "x" * 198)
    assert len(identity_of(long).rpartition(" ")[2]) == 64


def test_a_referer_counts_where_the_layer_says_so() -> None:
    one, other = (Request("a", url=URL, referer=f"http://r.example/{n}") for n in (1, 2))

    assert identity_of(one, (), True) == f"a GET {URL} from http://r.example/1"
    assert identity_of(one, (), True) != identity_of(other, (), True)


@pytest.mark.parametrize(
    "url", ["", "mailto:x@h.example", "/p", "http://", "http://h.example/" + "x" * 9000]
)
def test_what_is_no_address_has_no_identity(url: str) -> None:
    with pytest.raises(GiveUp, match="not an address"):
        identity_of(Request("a", url=url))


def test_equal_requests_are_one() -> None:
    one = Request(1, "JSON", URL, None, {"a": [1]}, {"x": 1})
    other = Request(1, "JSON", URL, None, {"a": [1]}, {"x": 2})

    assert len({one, other, Request(1, "JSON", URL, None, {"a": [2]})}) == 2


@pytest.mark.parametrize("method", ["get", "PUT", "", "GET /x HTTP/1.1\r\n"])
def test_other_methods_are_refused(method: str) -> None:
    with pytest.raises(ValueError, match="none of the methods"):
        Request(1, method, URL)


def test_values_are_found_where_they_were_sent_or_carried() -> None:
    request = Request(1, "POST", f"{URL}?q=3", None, [("a", "1"), ("a", "2")], {"b": 2, "q": 4})

    assert [request.value(name) for name in "abqz"] == ["1", 2, 4, None]
    assert Request(1, "JSON", f"{URL}?q=3", None, {"a": 1}).value("q") == "3"


def test_the_payload_of_a_get_stands_in_its_query() -> None:
    assert Request(1, "GET", URL, None, {"a": "x y"}).address == f"{URL}?a=x+y"
    assert Request(1, "GET", f"{URL}?b=1", None, {"a": "1"}).address == f"{URL}?b=1&a=1"
    assert Request(1, "GET", URL).body is None


def test_bodies() -> None:
    assert Request(1, "POST", URL, None, {"a": "ä"}).body == (
        "application/x-www-form-urlencoded",
        b"a=%C3%A4",
    )
    assert Request(1, "JSON", URL, None, {"a": "ä"}).body == (
        "application/json",
        '{"a":"ä"}'.encode(),
    )
    assert Request(1, "JSON", URL, None, "\ud800").body == ("application/json", '"\ufffd"'.encode())


def random_request(chance: Random) -> Request:
    texts = ["", "x", "ä 中 \x00 \u2028", "a&b=c", "\ud800", '"\\', "x" * 300, " "]
    method = chance.choice(["GET", "POST", "JSON"])
    values: Any = {chance.choice(texts): chance.choice(texts) for _ in range(chance.randrange(4))}
    if method == "JSON":
        values = chance.choice([values, [values], None, 1.5, "x", True, [], 10**30])
    return Request(
        chance.choice(LAYERS),
        method,
        chance.choice([URL, "http://H.example:80/%7E?b=ä&a", "https://h.example/x y#z"]),
        chance.choice([None, "http://r.example/"]),
        values,
        {chance.choice(["k", "ä"]): chance.choice([1, "x", None, [1]])}
        if chance.random() < 0.5
        else {},
        chance.choice([Encoding(), Encoding("gbk", MULTIPART, ("f",))]),
    )


def test_identity_and_note_are_the_whole_request() -> None:
    for seed in range(500):
        request = random_request(Random(seed))
        if "\ud800" in repr(request) or "\\ud800" in repr(request):
            continue
        again = request_of(identity_of(request, {"x"}), note_of(request))
        assert (again, again.carried, again.encoding) == (
            request,
            request.carried,
            request.encoding,
        ), seed
        assert type(again.layer) is type(request.layer)
        note_of(request).encode()


def test_a_note_can_always_be_stored() -> None:
    note = note_of(Request(1, "POST", URL, None, {"a": "\ud800"}, {"b": "\udc00\x00"}))

    assert "\x00" not in note.encode().decode()


def test_a_list_is_the_whole_request() -> None:
    plain = Request("list", "POST", URL, None, {"a": "1"})
    assert plain.as_list() == ["list", "POST", URL, None, [["a", "1"]]]
    for seed in range(200):
        request = random_request(Random(seed))
        again = Request.of_list(request.as_list())
        assert (again, again.carried, again.encoding) == (
            request,
            request.carried,
            request.encoding,
        ), seed


@pytest.mark.parametrize(
    "values",
    [
        [],
        "abcde",
        [1, "GET"],
        [1, "PUT", URL, None, []],
        [1, "GET", 7, None, []],
        [1, "GET", URL, None, [], 7],
        [None, "GET", URL, None, []],
        [True, "GET", URL, None, []],
        ["a", "POST", URL, None, 7],
    ],
)
def test_what_is_no_request_is_refused(values: Any) -> None:
    with pytest.raises(ValueError, match="no request"):
        Request.of_list(values)
