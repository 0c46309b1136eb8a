from __future__ import annotations

import pytest

from tools.layers.cookies import Cookies
from tools.network.response import Response

URL = "http://shop.example/"


def said(*cookies: str) -> Response:
    headers = [("Set-Cookie", each) for each in cookies]
    return Response(200, "OK", "1.1", headers, b"", b"", URL, None, b"")


@pytest.mark.parametrize("bad", ["a=x\x01y", "a=\u4e2d", "a\r\nX: y=1", f"a={'y' * 5000}"])
def test_what_cannot_be_sent_is_not_kept(bad: str) -> None:
    cookies = Cookies()
    cookies.keep(said("good=1", bad))
    assert cookies.of(URL) == {"Cookie": "good=1"}


def test_no_more_are_sent_than_servers_take() -> None:
    cookies = Cookies()
    for number in range(1000):
        cookies.keep(said(f"name{number}={'x' * 50}"))
    sent = cookies.of(URL)["Cookie"]
    assert 5000 < len(sent) <= 8000 and sent.endswith("x" * 50)
    assert cookies.of("http://other.example/") == {}
