"""A task on each database: its rows survive kills exactly, and a server that goes away is waited
for."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import time
from argparse import Namespace
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from threading import Event, Timer
from typing import Any

import pytest

from tests.layers.test_visit import Notes, listing, note
from tests.support.command import run, start_in
from tests.support.layers import FLAGS, activity, rows, seen, settings_for
from tests.support.mariadb_server import PASSWORD as MARIADB_PASSWORD
from tests.support.mariadb_server import MariadbServer
from tests.support.postgres_server import PASSWORD as POSTGRES_PASSWORD
from tests.support.postgres_server import PostgresServer
from tests.support.site import Asked, Page, Pages, Site
from tools.archive.reader import read
from tools.archive.record import Place
from tools.engine.harvest import Harvest
from tools.jobs.layers import opened
from tools.layers.kept import FOLDER, kept_in
from tools.tables.address import PASSWORD_VARIABLE
from tools.tables.target import Target, open_target

KILLS = int(os.environ.get("SHEAF_LAYERS_KILLS", "3"))
LISTS, EACH = 4, 10

TASK = """
base = "{base}"
database = "{database}"
start = ["/"]
[tables.product]
key = ["sku"]
columns = {{ sku = "VARCHAR(20)", shelf = "TEXT" }}
[tables.tag]
columns = {{ sku = "VARCHAR(20)", tag = "TEXT" }}
[layers.home]
next = [{{ to = "shelf", each = "a", url = "::attr(href)", carry = {{ shelf = "::text" }} }}]
[layers.shelf]
next = [{{ to = "product", each = "a", url = "::attr(href)" }}]
[layers.product]
keep = true
[[layers.product.rows]]
table = "product"
fields = {{ sku = {{ css = "h1::text", required = true }}, shelf = {{ carried = "shelf" }} }}
[[layers.product.rows]]
table = "tag"
each = "li"
fields = {{ tag = "::text", sku = {{ xpath = "//h1/text()" }} }}
"""


def shop() -> Pages:
    pages: dict[str, Page] = {"/": listing(*(f"/s/{shelf}" for shelf in range(LISTS)))}
    for shelf in range(LISTS):
        pages[f"/s/{shelf}"] = listing(*(f"/p/{shelf}-{n}" for n in range(EACH)))
        for n in range(EACH):
            tags = "".join(f"<li>tag {tag}</li>" for tag in range(2))
            pages[f"/p/{shelf}-{n}"] = f"<h1>{shelf}-{n}</h1><ul>{tags}</ul>"
    return pages


@pytest.fixture(params=["sqlite", "postgres", "mariadb"])
def database(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[str]:
    if request.param == "sqlite":
        yield f"sqlite:{tmp_path / 'shop.db'}"
        return
    is_postgres = request.param == "postgres"
    server: PostgresServer | MariadbServer = request.getfixturevalue(request.param)
    monkeypatch.setenv(PASSWORD_VARIABLE, POSTGRES_PASSWORD if is_postgres else MARIADB_PASSWORD)
    yield server.database()


@pytest.mark.timeout(240 + 10 * KILLS)
def test_killed_at_any_moment_its_rows_are_exact(tmp_path: Path, database: str) -> None:
    seed = random.randrange(2**32)
    print(f"seed {seed}")
    chance = random.Random(seed)
    secret: Any = {PASSWORD_VARIABLE: os.environ.get(PASSWORD_VARIABLE, "")}
    (tmp_path / "sheaf.toml").write_text("[layers]\ndelay_s = 0.02\nper_host = 2\n")
    (tmp_path / "tasks").mkdir()
    words = ("layers", "shop", "--once", "-q")
    with Site(shop()) as site:
        task = TASK.format(base=site.url, database=database)
        (tmp_path / "tasks" / "shop.toml").write_text(task)
        for _ in range(KILLS):
            process = start_in(tmp_path, "main.py", *words, **secret)
            wait_for_work(site, process, chance.randrange(1, 12))
            process.send_signal(signal.SIGKILL)
            process.communicate(timeout=30)
        done = run("main.py", *words, cwd=tmp_path, **secret)
    assert done.returncode == 0, done.stderr
    with closing(open_target(database, tmp_path)) as target:
        assert exact(target)
    state = tmp_path / "state-layers" / "shop"
    kept = [*kept_in(state)]
    assert len(kept) == len({each.request for each in kept}) == LISTS * EACH
    for each in kept:
        place = Place(each.file, each.offset, each.length)
        assert b"<h1>" in read(state / FOLDER, place).body()


def wait_for_work(site: Site, process: subprocess.Popen[str], pages: int) -> None:
    """So many more are asked for, or there is nothing left to ask."""
    wanted, until = len(site.asked) + pages, time.monotonic() + 60
    while len(site.asked) < wanted and process.poll() is None:
        assert time.monotonic() < until
        time.sleep(0.005)


def exact(target: Target) -> bool:
    products = {row.sku: row.shelf for row in target.select("SELECT sku, shelf FROM product")}
    tags = [tuple(row) for row in target.select("SELECT sku, tag FROM tag")]
    names = [f"{shelf}-{n}" for shelf in range(LISTS) for n in range(EACH)]
    wanted = {(name, f"tag {tag}") for name in names for tag in range(2)}
    return sorted(products) == sorted(names) and len(tags) == len(wanted) and {*tags} == wanted


@pytest.mark.timeout(180)
def test_a_server_that_stops_and_starts_again_is_waited_for(
    tmp_path: Path, postgres: PostgresServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(PASSWORD_VARIABLE, POSTGRES_PASSWORD)
    stopped: list[int] = []

    def middle(_: Asked) -> str:
        if not stopped:
            stopped.append(1)
            postgres.stop("immediate")
            Timer(1.5, postgres.start).start()
        return note("in the middle")

    names = [f"/{number}" for number in range(12)]
    pages: Pages = {"/": listing(*names), **{name: note(name) for name in names}, "/5": middle}
    with Site(pages) as site:
        task = Notes(site.url)
        task.database, task.attempts = postgres.database(), 1
        activity(task, tmp_path)
    assert len(rows(task, tmp_path, "note", "title")) == 12
    assert seen(tmp_path).pools["failed"] == 0


@pytest.mark.timeout(120)
def test_an_activity_does_not_begin_before_the_server_answers(
    tmp_path: Path, postgres: PostgresServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(PASSWORD_VARIABLE, POSTGRES_PASSWORD)
    with Site({"/": listing("/a"), "/a": note("A")}) as site:
        task = Notes(site.url)
        task.database, task.every = postgres.database(), 600.0
        settings, stop = settings_for(task, tmp_path), Event()
        job = opened(settings, Namespace(**FLAGS), stop)
        with closing(job), closing(Harvest(job, settings.pools_file, stop, 1, 5.0)) as run_:
            job.open(run_)
            run_.run()
            postgres.stop("immediate")
            try:
                job.finish(run_)
                assert job.problem(run_) is None and job.summary()
                assert not job.is_ready()
                assert job.next_round(run_) == pytest.approx(time.time() + 60, abs=10)
            finally:
                postgres.start()
            assert job.is_ready()
            assert job.next_round(run_) == pytest.approx(time.time() + 600, abs=10)
