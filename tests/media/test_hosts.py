"""One file that does not come is its own fault; several in a row are their host's, for a day."""

from __future__ import annotations

import time
from itertools import count

import pytest

from tools.errors import ServerTrouble, Unavailable
from tools.media import hosts as filehost
from tools.media.hosts import FileHosts
from tools.network.rests import Rests

TROUBLE = ServerTrouble("files.example.org answered HTTP 503")


def url(number: int, host: str = "files.example.org") -> str:
    return f"https://{host}/{number}.jpg"


@pytest.fixture
def rests() -> Rests:
    return Rests()


@pytest.fixture
def hosts(rests: Rests) -> FileHosts:
    return FileHosts(rests, 30.0)


def test_one_bad_file_among_good_ones_is_no_outage(hosts: FileHosts, rests: Rests) -> None:
    for number in range(10):
        assert hosts.failed(url(0), TROUBLE) is TROUBLE
        hosts.answered(url(number))
    for _ in range(5):
        assert hosts.failed(url(0), TROUBLE) is TROUBLE
    assert not rests.number()


def test_several_in_a_row_let_the_host_rest_once(hosts: FileHosts, rests: Rests) -> None:
    outcomes = [hosts.failed(url(number), TROUBLE) for number in range(6)]
    assert outcomes[:2] == [TROUBLE] * 2
    assert all(isinstance(each, Unavailable) for each in outcomes[2:])
    assert 26 < rests.left("files.example.org") <= 33 and rests.number() == 1
    assert hosts.failed(url(1, "other.example.org"), TROUBLE) is TROUBLE
    rests.end("files.example.org")  # as whoever asks does, for any answer
    hosts.answered(url(7))
    assert hosts.failed(url(8), TROUBLE) is TROUBLE


def test_rests_grow(rests: Rests) -> None:
    pauses: list[float] = []
    rests.on_begin = lambda trouble: pauses.append(trouble.seconds)
    hosts = FileHosts(rests, 0.0001)
    deadline = time.monotonic() + 10
    for number in count():  # only who comes after a rest makes the next one longer
        hosts.failed(url(number), TROUBLE)
        if max(pauses, default=0.0) > 0.0004:
            break
        assert time.monotonic() < deadline


def test_what_others_found_out_of_a_host_counts(hosts: FileHosts, rests: Rests) -> None:
    rests.begin("files.example.org", "it answers nobody", 0.0)
    assert isinstance(hosts.failed(url(1), TROUBLE), Unavailable)
    rests.end("files.example.org")
    assert hosts.failed(url(2), TROUBLE) is TROUBLE


def test_a_host_that_is_down_for_a_day_is_given_up(
    hosts: FileHosts, rests: Rests, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(filehost, "LONGEST_OUTAGE_S", 0.0)
    rests.begin("files.example.org", "it answers nobody", 0.0)
    assert [hosts.failed(url(number), TROUBLE) for number in range(6)] == [TROUBLE] * 6
