"""Hosts that are left alone, of a job that is polite by itself: on the page and in figures."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.support.command import start_in
from tests.web.scene import PATIENCE_S, Served, wait_for
from tests.web.serving import serving
from tools.journal.rests import MOST, Resting, rests_fact, rests_in
from tools.network import server
from tools.network.reply import Reply, html_error


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
    text = page.get("/").text
    assert host in text and 'class="resting"' in text and "<bdi>HTTP 429</bdi>" in text
    assert re.search(r'^sheaf_hosts{state="resting"} 1\.0$', page.get("/metrics").text, re.M)


def test_of_very_many_the_first_are_named() -> None:
    many = [Resting(f"h{at}", 1e10 + at, "HTTP 503") for at in range(5_000)]
    fact = rests_fact(7, many)
    assert rests_in(fact, 7) == many[:MOST]
    assert max(map(len, fact.values())) < 20_000
