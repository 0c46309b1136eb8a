"""The job `structure` into servers: the same tables as in a file, also if they are away a while."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.mariadb_server import PASSWORD as MARIADB_PASSWORD
from tests.support.mariadb_server import MariadbServer
from tests.support.postgres_server import PASSWORD as POSTGRES_PASSWORD
from tests.support.postgres_server import PostgresServer
from tests.support.register import DOCUMENTS, make_register, page
from tests.support.structured import Register
from tools.engine.harvest import Harvest
from tools.tables.address import PASSWORD_VARIABLE

pytestmark = pytest.mark.timeout(180)

Server = PostgresServer | MariadbServer


@pytest.fixture(params=["postgres", "mariadb"])
def server(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    is_postgres = request.param == "postgres"
    monkeypatch.setenv(PASSWORD_VARIABLE, POSTGRES_PASSWORD if is_postgres else MARIADB_PASSWORD)
    yield request.getfixturevalue(request.param)


@pytest.fixture
def register(tmp_path: Path, server: Server) -> Register:
    found = Register(make_register(tmp_path))
    found.to = server.database()
    return found


def test_the_register_becomes_its_tables(register: Register) -> None:
    register.round()
    assert register.is_true()
    register.round(only_stage="export", again=True)
    assert register.is_true()
    assert register.exports() == 8


def test_a_newer_version_and_an_edited_parser(register: Register) -> None:
    register.edit("parsers/company.py", "统一社会信用代码", "名称")
    register.round()
    register.write("raw/b.html", page("b.html", "上海").replace("2015-02-01", "2016-01-01"))
    register.edit("parsers/company.py", 'facts["名称"]', 'facts["统一社会信用代码"]')
    register.round()
    register.write("raw/b.html", page("b.html", "上海"))
    register.round()
    assert register.is_true()
    assert len(DOCUMENTS) == 4


def test_a_server_that_is_stopped_midway_is_waited_for(register: Register, server: Server) -> None:
    """Nobody's attempt is spent, and parsing goes on meanwhile."""
    stopped: list[float] = []

    def disturb(run: Harvest) -> None:
        if not stopped:
            server.stop()
            stopped.append(time.monotonic())
        elif len(stopped) == 1 and run.pools.count("to_export") == 4:
            server.start()
            stopped.append(time.monotonic())

    register.round(disturb)
    assert len(stopped) == 2
    assert register.is_true()
    assert register.failures == {}
    assert register.seen.tally["parsed json"] == 1
