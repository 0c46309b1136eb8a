"""What failed by reason: looked at, and put back to work."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from tests.web.scene import Answer, Served, copied, served, spoil
from tools.assist.inbox import is_retry_requested, take_retry_requests
from tools.engine.pools import Pools
from tools.jobs.conceptnet_description import CONCEPTNET
from tools.journal.instance import only_instance
from tools.journal.reader import failures_at
from tools.journal.reasons import Failures
from tools.settings import Settings
from tools.web.actions import retry_failed
from tools.web.site import Site, Sources

PROXY = "the proxy does not work"


def retried(page: Served, reason: str) -> Answer:
    bearer = {"Authorization": f"Bearer {page.token}", "Accept": "application/json"}
    return page.ask("/act/retry", "POST", f"reason={quote(reason)}", **bearer)


def test_a_reason_said_of_many_hosts_is_one(harvested: Path, tmp_path: Path) -> None:
    """However many they are; a retry takes all of them, and no other's."""
    folder = copied(harvested, tmp_path)
    cause = "no such name (gaierror: [Errno -2] Name or service not known)"
    hosts = [f"a{at}.example: {cause}" for at in range(12_340, 12_345)]
    others = ("a12345.example answered HTTP 500", "a12346.example answered HTTP 500")
    spoil(folder / "state", (*hosts, *others))
    with served(folder) as page:
        assert {each["reason_group"]: each["number"] for each in groups_of(page)} == {
            "no such name": 5,
            **dict.fromkeys(others, 1),
        }
        assert len(groups_of(page)[0]["examples"]) == 3
        assert {*found(page, "no such name")} == {*hosts}
        assert retried(page, others[0]).json["said"].startswith("1 go back to work")
        assert retried(page, "no such name").json["said"].startswith("5 go back to work")
        assert [each["reason_group"] for each in groups_of(page)] == [others[1]]


def test_of_very_many_reasons_the_most_frequent_are_shown(
    harvested: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The others are counted; they are found by their text, and `Retry all` takes them too."""
    monkeypatch.setattr("tools.journal.reasons.MOST_GROUPS", 2)
    folder = copied(harvested, tmp_path)
    spoil(folder / "state", ("often", "often", "b", "c", "d"))
    left_out = {"groups": 2, "failures": 2}
    with served(folder) as page:
        seen = page.get("/api/failed").json
        assert [each["reason_group"] for each in seen["groups"]] == ["often", "b"]
        assert seen["number"] == 5 and seen["left_out"] == left_out
        assert "There are 2 more reasons, of 2 that failed" in page.get("/failed").text
        known = page.get("/api/history").json
        assert len(known["failures_by_gist"]) == 2 and known["failures_left_out"] == left_out
        assert found(page, "d") == ["d"] and "Retry these" in page.get("/failed?reason=d").text
        assert retried(page, "d").json["said"].startswith("1 go back to work")
        assert retried(page, "").json["said"].startswith("4 go back to work")
        assert "more reasons" not in page.get("/failed").text


def groups_of(page: Served) -> list[dict[str, Any]]:
    groups: list[dict[str, Any]] = page.get("/api/failed").json["groups"]
    return groups


def found(page: Served, reason: str, after: str = "") -> list[str]:
    answer = page.get(f"/api/failed?reason={quote(reason)}&after={after}")
    assert answer.status == 200
    return [each["reason"] for each in answer.json["found"]]


def test_retry_of_a_reason_leaves_the_others(harvested: Path, tmp_path: Path) -> None:
    folder = copied(harvested, tmp_path)
    one, other = "HTTP 404 for http://example.org/a", "example.org:8080: connection lost"
    spoil(folder / "state", (one, "HTTP 404 for http://example.org/b", other))
    with served(folder) as page:
        groups = {each["reason_group"]: each["number"] for each in groups_of(page)}
        assert groups == {"HTTP 404": 2, "connection lost": 1}
        said = retried(page, "connection lost")
        assert said.json["said"].startswith("1 go back to work")
        assert [each["number"] for each in groups_of(page)] == [2]
        assert retried(page, "nothing like that").status == 409


def test_a_reason_is_retried_from_its_own_page(harvested: Path, tmp_path: Path) -> None:
    """What is only a part of some reasons is none."""
    folder = copied(harvested, tmp_path)
    spoil(folder / "state", ("HTTP 404 for a", "other"))
    with served(folder) as page:
        assert "Retry these" in page.get("/failed?reason=HTTP+404").text
        assert "Retry these" not in page.get("/failed?reason=404").text
    with served(folder, is_read_only=True) as page:
        assert "Retry these" not in page.get("/failed?reason=HTTP+404").text


def test_failed_ones_page_by_page(harvested: Path, tmp_path: Path) -> None:
    folder = copied(harvested, tmp_path)
    spoil(folder / "state", ("HTTP 404 for a", "HTTP 404 for b", "other"))
    with served(folder) as page:
        seen = page.get("/api/failed?reason=http+404").json
        assert len(seen["found"]) == 2 and seen["next"] is None
        last = seen["found"][0]["id"]
        assert len(page.get(f"/api/failed?reason=http+404&after={last}").json["found"]) == 1


@pytest.mark.parametrize(
    ("reason", "group"),
    [
        ("example.org:8080: connection lost", "connection lost"),
        ("[::1]:8080: connection refused (ConnectionRefusedError: x)", "connection refused"),
        ("a.example: the proxy does not work, http://b.example (OSError)", PROXY),
        ("robots.txt could not be had: a.example: no such name (gaierror)", "no such name"),
        ("robots.txt: private", "robots.txt: private"),
        ("shop.py:12: KeyError: 'x'", "shop.py:12: KeyError"),
        ("people.born: too long: 12 of 10", "people.born: too long: 12 of 10"),
        ("a12345.example answered HTTP 500", "a12345.example answered HTTP 500"),
        ("HTTP 404 for http://example.org/a", "HTTP 404"),
        ("no name: http://a.example/c", "no name"),
        ("{}", "various"),
        ("x" * 300, "x" * 199),
    ],
)
def test_whoever_clicks_a_group_sees_what_was_counted(
    reason: str, group: str, harvested: Path, tmp_path: Path
) -> None:
    folder = copied(harvested, tmp_path)
    spoil(folder / "state", (reason, "quite another"))
    with served(folder) as page:
        counted = {each["reason_group"]: each["number"] for each in groups_of(page)}
        assert counted == {group: 1, "quite another": 1}
        assert found(page, group) == [reason]
        assert retried(page, group).json["said"].startswith("1 go back to work")
        assert [each["reason_group"] for each in groups_of(page)] == ["quite another"]


def test_only_pages_of_failures_go_through_them(
    harvested: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """There may be a hundred thousand; and nobody is told of those that went back to work."""
    folder = copied(harvested, tmp_path)
    spoil(folder / "state", ("one", "other"))
    asked: list[Path] = []

    def counted(file: Path) -> Failures:
        asked.append(file)
        return failures_at(file)

    monkeypatch.setattr("tools.web.site.failures_at", counted)
    with served(folder) as page:
        pages = ("overview", "work", "runs", "settings", "log", "search", "status")
        assert {page.get(f"/api/{each}").status for each in pages} == {200} and not asked
        assert page.get("/api/overview").json["failed"] == 2
        assert page.get("/api/failed").json["number"] == 2 and len(asked) == 1
        by_reason = {"one": 1, "other": 1}
        assert page.get("/api/history").json["failures"] == by_reason
        assert retried(page, "one").status == 200
        assert page.get("/api/failed").json["number"] == 1
        assert page.get("/api/history").json["failures"] == {"other": 1}


def test_without_a_reason_it_is_unknown(harvested: Path, tmp_path: Path) -> None:
    """As in states of older versions."""
    folder = copied(harvested, tmp_path)
    spoil(folder / "state", ("one", "other"))
    with closing(sqlite3.connect(folder / "state" / "pools.db")) as db, db:
        db.execute("UPDATE uri SET reason = NULL WHERE reason = 'one'")
    with served(folder) as page:
        assert {each["reason_group"] for each in groups_of(page)} == {"unknown", "other"}
        assert found(page, "unknown") == ["unknown"]
        assert retried(page, "unknown").json["said"].startswith("1 go back to work")
        assert [each["reason_group"] for each in groups_of(page)] == ["other"]


def test_a_place_that_is_none_is_the_beginning(harvested: Path, tmp_path: Path) -> None:
    folder = copied(harvested, tmp_path)
    spoil(folder / "state", ("one",))
    with served(folder) as page:
        for after in ("9" * 400, "9" * 5_000, "-1", "x", "%D9%A3", "0x1"):
            assert found(page, "one", after) == ["one"], after[:9]
        assert found(page, "one", "9" * 18) == []


@pytest.mark.parametrize("is_running", [False, True])
def test_a_group_that_is_a_part_of_another_is_retried_alone(
    is_running: bool, harvested: Path, tmp_path: Path
) -> None:
    folder = copied(harvested, tmp_path)
    state = folder / "state"
    reasons = ("HTTP 500", "x.org answered HTTP 500", "HTTP 500 (after 5 attempts)", "http 500")
    spoil(state, reasons)
    with served(folder) as page:
        numbers = {each["reason_group"]: each["number"] for each in groups_of(page)}
        assert numbers == {"HTTP 500": 2, "x.org answered HTTP 500": 1, "http 500": 1}
        assert found(page, "HTTP 500") == [reasons[0], reasons[2]]
        if is_running:
            with only_instance(state):
                assert "in a moment" in retried(page, "HTTP 500").json["said"]
            assert is_retry_requested(state)
            with closing(Pools(state / "pools.db", CONCEPTNET.stages(Settings()))) as pools:
                assert take_retry_requests(state, pools) == 2
            assert not is_retry_requested(state)
        else:
            assert retried(page, "HTTP 500").json["said"].startswith("2 go back to work")
    assert {*failures_at(state / "pools.db").reasons} == {reasons[1], reasons[3]}


def test_a_reason_is_looked_up_once_for_a_retry(
    harvested: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A moment later it may be gone."""
    state = copied(harvested, tmp_path) / "state"
    spoil(state, ("one", "other"))
    site = Site(Sources(Settings(), state / "pools.db", lambda file: CONCEPTNET))
    answers = iter((failures_at(state / "pools.db"), Failures({}, [])))
    monkeypatch.setattr(site, "failures", lambda: next(answers))
    assert retry_failed(site, {"reason": "one"}).startswith("1 go back to work")


def test_a_wish_that_nobody_wrote_is_forgotten(harvested: Path, tmp_path: Path) -> None:
    state = copied(harvested, tmp_path) / "state"
    spoil(state, ("one",))
    (state / "wishes").mkdir(exist_ok=True)
    for at, text in enumerate(("x", "5", "[5]", '{"a": 1}', "null")):
        (state / "wishes" / f"{at}.retry-of").write_text(text)
    with closing(Pools(state / "pools.db", CONCEPTNET.stages(Settings()))) as pools:
        assert take_retry_requests(state, pools) == 0
    assert not is_retry_requested(state)


@pytest.mark.parametrize("few", [10_000, 0])
def test_a_text_is_looked_for_in_uris_too(
    few: int, harvested: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where many failed, step by step."""
    monkeypatch.setattr("tools.web.failed.FEW", few)
    monkeypatch.setattr("tools.web.failed.STEP", 7)
    folder = copied(harvested, tmp_path)
    uris = spoil(folder / "state", ("HTTP 500", "HTTP 404 for that", "HTTP 404"))
    with served(folder) as page:
        for uri, reason in zip(uris, ("HTTP 500", "HTTP 404 for that", "HTTP 404"), strict=True):
            assert found(page, uri.upper()) == [reason]
        assert found(page, "404") == ["HTTP 404 for that", "HTTP 404"]
        assert found(page, "http") == ["HTTP 500", "HTTP 404 for that", "HTTP 404"]
        monkeypatch.setattr("tools.web.failed.PAGE", 2)
        first = page.get("/api/failed?reason=http").json
        assert len(first["found"]) == 2 and not first["is_cut"]
        assert found(page, "http", first["next"]) == ["HTTP 404"]


def test_a_search_that_takes_too_long_goes_on_where_it_ended(
    harvested: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in (("FEW", 0), ("STEP", 7), ("LONGEST_S", 0.0)):
        monkeypatch.setattr(f"tools.web.failed.{name}", value)
    folder = copied(harvested, tmp_path)
    uris = spoil(folder / "state", ("one", "other"))
    with served(folder) as page:
        assert "Look on" in page.get("/failed?reason=/c/").text
        assert "None any more" not in page.get("/failed?reason=nobody").text
        seen, after, steps = list[str](), 0, 0
        while after is not None:
            answer = page.get(f"/api/failed?reason=/c/&after={after}").json
            assert answer["is_cut"] == (answer["next"] is not None)
            seen += [each["uri"] for each in answer["found"]]
            after, steps = answer["next"], steps + 1
        assert {*seen} == {*uris} and len(seen) == 2 and steps > 2
