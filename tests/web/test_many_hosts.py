"""A crawl that has asked very many hosts: the page reads the most asked ones, and whoever rests."""

from __future__ import annotations

import os
import time
from pathlib import Path

import orjson
import pytest

from tests.support.state_file import make, make_old, write
from tools.journal.instance import only_instance
from tools.journal.rests import Resting, rests_fact
from tools.reports.as_json import as_json
from tools.reports.view import STRANGER
from tools.settings import Settings
from tools.web.metrics import metrics_of
from tools.web.overview import MOST_HOSTS, overview
from tools.web.paces import MOST
from tools.web.site import Site, Sources

MANY = 5_000
RESTS = "h7.example.org"


def site_of(file: Path) -> Site:
    return Site(Sources(Settings(state=file.parent), file, lambda _: STRANGER))


@pytest.fixture
def crowded(tmp_path: Path) -> Site:
    """Each host was asked as often as its number says, and sent ten bytes each time."""
    file = make(tmp_path / "pools.db")
    rests = rests_fact(os.getpid(), [Resting(RESTS, time.time() + 3600, "HTTP 503")])
    write(
        file,
        *(("INSERT INTO host VALUES (?, ?, ?)", (f"h{at}.example.org", at, 10 * at))
          for at in range(MANY)),
        *(("INSERT INTO meta VALUES (?, ?)", fact) for fact in rests.items()),
    )  # fmt: skip
    return site_of(file)


def test_only_the_most_asked_are_read_and_whoever_rests(crowded: Site) -> None:
    with only_instance(crowded.state):
        shown = overview(crowded)
    assert len(crowded.view().seen.assist.hosts) == MOST + 1
    first, *rest = shown["hosts"]
    assert (first.name, first.requests, first.bytes, first.reason) == (RESTS, 7, 70, "HTTP 503")
    names = [f"h{MANY - at}.example.org" for at in range(1, MOST_HOSTS)]
    assert [each.name for each in rest] == names
    assert shown["hosts_in_all"] == MANY


def test_programs_get_them_all(crowded: Site) -> None:
    hosts = orjson.loads(as_json(crowded.whole_view()))["hosts"]
    assert len(hosts) == MANY and hosts[RESTS] == {"requests": 7, "bytes": 70}
    total = 10 * sum(range(MANY))
    text, _ = metrics_of(crowded)
    (line,) = (each for each in text.decode().splitlines() if each.startswith("sheaf_bytes_total{"))
    assert float(line.partition(" ")[2]) == total


def test_a_state_of_the_first_format_has_none(tmp_path: Path) -> None:
    site = site_of(make_old(tmp_path / "pools.db", uris={"/c/en/a": "to_fetch"}))
    assert overview(site)["hosts_in_all"] == 0
    assert orjson.loads(as_json(site.whole_view()))["hosts"] == {}
    assert b"sheaf_bytes_total" in metrics_of(site)[0]
