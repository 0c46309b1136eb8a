"""One file that does not come is its own fault; several in a row are their host's, for a day."""

from __future__ import annotations

import pytest

from tools.errors import ServerTrouble, Unavailable
from tools.media import hosts as filehost
from tools.media.hosts import FileHosts

TROUBLE = ServerTrouble("files.example.org answered HTTP 503")


def url(number: int, host: str = "files.example.org") -> str:
    return f"https://{host}/{number}.jpg"


@pytest.fixture
def rests() -> list[float]:
    return []


@pytest.fixture
def hosts(rests: list[float]) -> FileHosts:
    def let_rest(_url: str, _reason: str, seconds: float) -> float:
        rests.append(seconds)
        return seconds

    return FileHosts(let_rest, 30.0)


def test_one_bad_file_among_good_ones_is_no_outage(hosts: FileHosts, rests: list[float]) -> None:
    for number in range(10):
        assert hosts.failed(url(0), TROUBLE) is TROUBLE
        hosts.answered(url(number))
    for _ in range(5):
        assert hosts.failed(url(0), TROUBLE) is TROUBLE
    assert not rests


def test_several_in_a_row_let_the_host_rest_once(hosts: FileHosts, rests: list[float]) -> None:
    outcomes = [hosts.failed(url(number), TROUBLE) for number in range(6)]
    assert outcomes[:2] == [TROUBLE] * 2
    assert all(isinstance(each, Unavailable) for each in outcomes[2:])
    assert all(29 < seconds <= 30 for seconds in rests)
    assert hosts.failed(url(1, "other.example.org"), TROUBLE) is TROUBLE
    hosts.answered(url(7))
    assert hosts.failed(url(8), TROUBLE) is TROUBLE


def test_rests_grow(rests: list[float]) -> None:
    def let_rest(_url: str, _reason: str, seconds: float) -> float:
        rests.append(seconds)
        return seconds

    hosts = FileHosts(let_rest, 0.0001)
    for number in range(300):
        hosts.failed(url(number), TROUBLE)
    assert max(rests) > 0.0004


def test_a_host_that_is_down_for_a_day_is_given_up(
    hosts: FileHosts, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(filehost, "LONGEST_OUTAGE_S", 0.0)
    assert [hosts.failed(url(number), TROUBLE) for number in range(6)] == [TROUBLE] * 6
