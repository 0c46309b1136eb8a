"""Traffic is counted by host, and never grows beyond its bounds."""

from __future__ import annotations

from threading import Thread

import pytest

from tools.network import traffic as traffic_module
from tools.network.exchange import Exchange
from tools.network.traffic import OTHERS, Traffic


def test_what_was_taken_is_not_taken_again() -> None:
    traffic = Traffic()
    for status in (200, 206, 404, 0):
        traffic.add(Exchange("a", status, 10))
    traffic.add(Exchange("b", 200, 5))
    assert traffic.take() == {"a": (4, 40), "b": (1, 5)}
    traffic.add(Exchange("a", 200, 1))
    assert traffic.take() == {"a": (1, 1)} and traffic.take() == {}
    assert (traffic.requests, traffic.bytes) == (6, 46)
    assert traffic.classes == {"2xx": 4, "4xx": 1, "none": 1}


def test_beyond_so_many_hosts_they_are_counted_together(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(traffic_module, "MOST_HOSTS", 2)
    traffic = Traffic()
    for host in "abcda":
        traffic.add(Exchange(host, 200, 1))
    assert traffic.take() == {"a": (2, 2), "b": (1, 1), OTHERS: (2, 2)}


def test_nothing_is_lost_between_threads() -> None:
    traffic, taken = Traffic(), 0

    def ask() -> None:
        for _ in range(5000):
            traffic.add(Exchange("a", 200, 1))

    threads = [Thread(target=ask) for _ in range(4)]
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads):
        taken += traffic.take().get("a", (0, 0))[0]
    for thread in threads:
        thread.join()
    assert taken + traffic.take().get("a", (0, 0))[0] == 20_000 == traffic.requests
