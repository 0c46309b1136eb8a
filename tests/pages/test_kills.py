"""`kill -9` at random moments: table and archive agree, and everything is as without it."""

from __future__ import annotations

import signal
import subprocess
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from threading import Event

import pytest

from tests.support.crawl import command, crawl, environment, rows
from tests.support.crawl_flaws import captures_of, flaws
from tests.support.postgres_server import PostgresServer, postgres_server
from tests.support.random_site import RandomSite
from tests.support.worlds.hostile_site import HostileSite

ESSENCE = """SELECT url, state, remark, depth, status, content_type, bytes, title, digest, redirect,
    words, sub_urls FROM pages ORDER BY url"""
DEPTH = 4


@pytest.fixture(scope="module")
def postgres() -> Iterator[PostgresServer]:
    with postgres_server() as server:
        yield server


@pytest.fixture
def server() -> Iterator[HostileSite]:
    with HostileSite() as server:
        RandomSite(11).put(server, 0.02)
        yield server


def kill_and_restart(server: HostileSite, folder: Path, kills: int, *flags: object) -> None:
    chance = Random(kills)
    folder.mkdir()
    words = command("--seed", server.at("/"), "--depth", DEPTH, *flags)
    for _ in range(kills):
        process = subprocess.Popen(
            words, cwd=folder, env=environment({}), stderr=subprocess.DEVNULL
        )
        wanted = len(server.asked) + chance.randrange(1, 12)
        while process.poll() is None and len(server.asked) < wanted:
            Event().wait(0.001)
        Event().wait(chance.uniform(0.0, 0.03))  # amid what follows from it
        process.send_signal(signal.SIGKILL)
        process.wait(timeout=60)
    assert crawl(folder, *flags, depth=DEPTH) == 0


def asker(folder: Path) -> Callable[[str], list[tuple[object, ...]]]:
    return lambda question: rows(folder, question)


def compare(server: HostileSite, disturbed: Path, calm: Path, ask: Callable[[str], list]) -> None:  # type: ignore[type-arg]
    """The disturbed crawl, which `ask` reads, with one that nobody killed."""
    assert flaws(disturbed / "archive", ask) == []
    asked = server.targets()
    server.asked.clear()
    assert crawl(calm, "--seed", server.at("/"), depth=DEPTH) == 0
    assert [tuple(row) for row in ask(ESSENCE)] == rows(calm, ESSENCE)
    words = "SELECT word, count, pages FROM words"
    assert sorted(map(tuple, ask(words))) == sorted(rows(calm, words))
    kept = captures_of(ask)
    times = Counter({url.removeprefix(server.lane()): number for url, number in kept.items()})
    often = {target: number for target, number in times.items() if number > asked[target]}
    assert not often
    lost = {target for target, number in asked.items() if number == 1 and times[target] != 1}
    assert lost - RandomSite(11).sent.keys() <= {"/robots.txt"}


def test_kills(server: HostileSite, tmp_path: Path) -> None:
    disturbed = tmp_path / "disturbed"
    kill_and_restart(server, disturbed, 5)
    compare(server, disturbed, tmp_path / "calm", asker(disturbed))


def test_kills_with_the_table_in_postgres(
    server: HostileSite, postgres: PostgresServer, tmp_path: Path
) -> None:
    database, disturbed = postgres.database(), tmp_path / "disturbed"
    kill_and_restart(server, disturbed, 3, "--database", database)
    compare(
        server, disturbed, tmp_path / "calm", lambda question: postgres.query(database, question)
    )
