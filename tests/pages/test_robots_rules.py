"""What a robots.txt said counts for a day, then one asks for it again."""

from __future__ import annotations

import time
from contextlib import closing
from pathlib import Path

import pytest

from tools.network.hosts import Hosts
from tools.pages.page import HostNews
from tools.pages.robots_rules import AGAIN_S, KEPT_S, RobotsRules
from tools.pages.table_sqlite import SqlitePages

pytestmark = pytest.mark.timeout(60)


def test_rules_of_yesterday_are_read_again_by_one_alone(tmp_path: Path) -> None:
    with closing(SqlitePages(tmp_path / "pages.db")) as table:
        yesterday = time.time() - KEPT_S - 1
        table.write([HostNews(name="h", robots="User-agent: *\nDisallow: /x", robots_at=yesterday)])
        rules = RobotsRules(table, Hosts(0.0, 0.0, 8, 60.0))
        assert rules.so_far("h") is None
        assert rules.of("h") is None  # this one reads them
        for _ in range(3):  # the others do not wait for it
            kept = rules.of("h")
            assert kept is not None and not kept.allows("https://h/x")
        rules.learn("h", "")
        fresh = rules.of("h")
        assert fresh is not None and fresh.allows("https://h/x")


def test_whoever_should_have_read_them_may_have_failed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with closing(SqlitePages(tmp_path / "pages.db")) as table:
        table.write([HostNews(name="h", robots="", robots_at=time.time() - KEPT_S - 1)])
        rules = RobotsRules(table, Hosts(0.0, 0.0, 8, 60.0))
        assert rules.of("h") is None and rules.of("h") is not None
        later = time.time() + AGAIN_S + 1
        monkeypatch.setattr("tools.pages.robots_rules.time.time", lambda: later)
        assert rules.of("h") is None
