"""Hosts that are left alone, of a job that is polite by itself: on the page and in figures."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.support.command import start_in
from tests.web.scene import PATIENCE_S, Served, wait_for
from tests.web.serving import serving
from tools.journal.rests import MOST, Resting, rests_fact, rests_in
from tools.network import server
from tools.network.reply import Reply, html_error


class Endless(server.Handler):
    """Each page leads to ten others."""

    def answer(self, path: str, query: Mapping[str, str]) -> Reply:
        if path == "/robots.txt":
            return html_error(404, "none")
        links = "".join(f'<a href="{path.rstrip("/")}/{number}">more</a>' for number in range(10))
        body = f"<!doctype html><title>{path}</title>{links}"
        return Reply(200, body.encode(), "text/html; charset=utf-8")


class Busy(server.Handler):
    """Whoever asks it is asked to come back in an hour."""

    def answer(self, path: str, query: Mapping[str, str]) -> Reply:
        if path == "/robots.txt":
            return html_error(404, "none")
        return html_error(429, "later", {"Retry-After": "3600"})


TASK = """base = "{url}"
start = ["/"]
robots = false
[tables.t]
columns = {{ a = "TEXT" }}
[layers.list]
rows = [{{ table = "t", fields = {{ a = "title::text" }} }}]
"""


@pytest.mark.parametrize("job", ["pages", "layers"])
def test_whoever_asked_for_a_pause_is_named(job: str, tmp_path: Path) -> None:
    with server.Serving(server.Server(("127.0.0.1", 0), Busy), "busy") as site:
        (tmp_path / "busy.toml").write_text(TASK.format(url=site.url), encoding="utf-8")
        where = {"pages": ("--seed", site.url, "--delay", "0"), "layers": ("busy", "--folder", ".")}
        with start_in(tmp_path, "main.py", job, *where[job], "-q") as crawl:
            try:
                file = wait_for(lambda: next(tmp_path.glob(f"state-{job}/**/pools.db"), None))
                with serving(tmp_path, "--state", file.parent) as page:
                    is_named(page, site.url.removeprefix("http://"))
            finally:
                crawl.terminate()
                crawl.communicate(timeout=PATIENCE_S)


def is_named(page: Served, host: str) -> None:
    def resting() -> list[dict[str, object]]:
        hosts = page.get("/api/overview").json["hosts"]
        return [each for each in hosts if each["rests_until"]]

    (seen,) = wait_for(resting)
    assert (seen["name"], seen["reason"]) == (host, "HTTP 429")
    assert str(seen["allowed"]).startswith("1 at once")
    text = page.get("/").text
    assert host in text and 'class="resting"' in text and "<bdi>HTTP 429</bdi>" in text
    assert re.search(r'^sheaf_hosts{state="resting"} 1\.0$', page.get("/metrics").text, re.M)


def test_of_very_many_the_first_are_named() -> None:
    many = [Resting(f"h{at}", 1e10 + at, "HTTP 503") for at in range(5_000)]
    fact = rests_fact(7, many)
    assert rests_in(fact, 7) == many[:MOST]
    assert max(map(len, fact.values())) < 20_000


def test_how_often_a_host_is_asked_and_may_be(tmp_path: Path) -> None:
    with server.Serving(server.Server(("127.0.0.1", 0), Endless), "endless") as site:
        host = site.url.removeprefix("http://")
        limits = f'[http.limits]\n"{host}" = ["5/second"]\n'
        (tmp_path / "sheaf.toml").write_text(limits, encoding="utf-8")
        with start_in(
            tmp_path, "main.py", "pages", "--seed", site.url, "--delay", "0", "-q"
        ) as crawl:
            try:
                file = wait_for(lambda: next(tmp_path.glob("state-pages/**/pools.db"), None))
                with serving(tmp_path, "--state", file.parent) as page:
                    seen = wait_for(lambda: asked(page))
                    assert (seen["name"], seen["allowed"]) == (host, "5/second")
                    number = re.fullmatch(r"(\d+\.\d)/s", seen["pace"])
                    assert number and 0 < float(number[1]) <= 6
                    assert "<td>5/second</td>" in page.get("/").text
            finally:
                crawl.terminate()
                crawl.communicate(timeout=PATIENCE_S)


def asked(page: Served) -> Any:
    """The host, when it is known how fast it is asked."""
    return next((each for each in page.get("/api/overview").json["hosts"] if each["pace"]), None)
