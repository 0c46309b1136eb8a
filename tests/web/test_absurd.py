"""Requests that make no sense: each has an answer, and none is a mistake of ours."""

from __future__ import annotations

import socket
from contextlib import closing
from urllib.parse import quote

import pytest

from tests.web.scene import Served, wait_for


def test_whoever_asks_only_for_the_head_of_a_stream_holds_none(page: Served) -> None:
    host, _, port = page.netloc.partition(":")
    asked = f"HEAD /live/overview HTTP/1.1\r\nHost: {page.netloc}\r\nConnection: close\r\n"
    with closing(socket.create_connection((host, int(port)), timeout=5)) as made:
        made.sendall(f"{asked}Authorization: Bearer {page.token}\r\n\r\n".encode())
        said = b""
        while more := made.recv(1000):
            said += more
    assert b"200 OK" in said and said.endswith(b"\r\n\r\n")


@pytest.mark.parametrize("method", ["OPTIONS", "TRACE", "PUT", "DELETE", "PATCH", "NONSENSE"])
def test_other_ways_to_ask_are_none(page: Served, method: str) -> None:
    for path in ("/", "/api/status", "/file/x", "/live/overview", "/static/live.css"):
        bearer = page.ask(path, method, Authorization=f"Bearer {page.token}")
        assert bearer.status == 405, path
        assert page.ask(path, method).status == 403, path


@pytest.mark.parametrize(
    "part",
    ["5-2", "99999999999999999999-", "-99999999999999999999", "abc", "--1", "0-" + ",0-" * 2000,
     ",".join(f"{at}-{at}" for at in range(0, 4000, 2)), "\xb2-\xb3", ""],
)  # fmt: skip
def test_absurd_parts_of_a_file(page: Served, part: str) -> None:
    """Never more than the file, and never a mistake of ours."""
    wait_for(lambda: page.get("/api/media").json["is_whole"])
    media = page.get("/api/media").json["files"][0]["media"]
    bearer = {"Authorization": f"Bearer {page.token}"}
    answer = page.ask(f"/file/{quote(media['path'])}", Range=f"bytes={part}", **bearer)
    assert answer.status in (200, 206, 400, 416)
    assert len(answer.body) <= media["bytes"]


@pytest.mark.parametrize(
    "query",
    ["?" + "a" * 30_000, "?" + "&".join(f"a{at}=1" for at in range(3000)), "?q=%00&reason=%00",
     "?q=%ff&reason=%ed%a0%80&after=%ff", "?after=" + "9" * 400, "?after=%C2%B2&weight=1e999"],
)  # fmt: skip
def test_absurd_questions(page: Served, query: str) -> None:
    for path in ("/search", "/media", "/failed", "/log", "/path", "/graph", "/r/IsA", "/runs"):
        assert page.get(path + query).status in (200, 404), path
