"""Files that were spoilt inside, while the page was open or before: it says so, and what to do."""

from __future__ import annotations

import http.client
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path

import pytest

from tests.support.command import run
from tests.web.scene import PATIENCE_S, Served, copied, scramble, wait_for
from tests.web.serving import serving

WELL = ("/log", "/settings", "/api/status", "/metrics")
TABLE_SAYS, STATE_SAYS = "pages.db is damaged", "start again with --resume"


@pytest.fixture(scope="module")
def crawled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("crawled")
    done = run("main.py", "pages", "--sample", "-q", cwd=folder)
    assert done.returncode == 0, done.stderr
    return folder


@pytest.fixture
def crawl(crawled: Path, tmp_path: Path) -> Path:
    """One that may be spoilt: its state."""
    return copied(crawled, tmp_path) / "state-pages"


@contextmanager
def looking_at(state: Path) -> Iterator[Served]:
    with serving(state.parent, "--state", state) as page:
        yield page


def test_a_table_of_pages_that_is_spoilt_while_it_is_shown(crawl: Path) -> None:
    with looking_at(crawl) as page, live(page, "/live/details") as stream:
        told(stream, "Pages by host")
        scramble(crawl / "pages.db")
        told(stream, TABLE_SAYS)
        for path in ("/pages", "/details", "/pages/page?url=x", "/api/pages", "/api/details"):
            answer = page.get(path)
            assert (answer.status, TABLE_SAYS in answer.text) == (503, True), path
        wait_for(lambda: TABLE_SAYS in page.get("/").text)
        for path in ("/", "/work", "/failed", "/runs", *WELL):
            assert page.get(path).status == 200, path


def test_a_state_that_is_spoilt(crawl: Path) -> None:
    with looking_at(crawl) as page, live(page, "/live/runs") as stream:
        told(stream, "<h1>Runs</h1>")
        scramble(crawl / "pools.db")
        told(stream, STATE_SAYS)
        for path in ("/", "/work", "/failed", "/details", "/runs", "/api/history"):
            answer = wait_for(partial(unwell, page, path))
            assert STATE_SAYS in answer, path
        for path in WELL:
            assert page.get(path).status == 200, path
        assert "<td>default</td>" in page.get("/settings").text
        status = page.get("/api/status").json
        assert status["word"] == "absent" and STATE_SAYS in status["sentence"]


def unwell(page: Served, path: str) -> str:
    answer = page.get(path)
    return answer.text if answer.status == 503 else ""


@contextmanager
def live(page: Served, path: str) -> Iterator[http.client.HTTPResponse]:
    """As it is being sent."""
    host, _, port = page.netloc.partition(":")
    with closing(http.client.HTTPConnection(host, int(port), timeout=PATIENCE_S)) as asking:
        asking.request("GET", path, headers={"Authorization": f"Bearer {page.token}"})
        yield asking.getresponse()


def told(stream: http.client.HTTPResponse, text: str) -> None:
    """It comes to this in time."""
    deadline = time.monotonic() + PATIENCE_S
    while text.encode() not in (line := stream.readline()):
        assert line and time.monotonic() < deadline, "it was not said in time"
