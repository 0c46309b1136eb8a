"""The Neo4j servers the tests share."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn
from urllib.parse import urlsplit

import pytest
from neo4j.exceptions import DriverError, Neo4jError

from tests.neo4j_server import CannotBeHad, Server, driver_for, rows


@dataclass(frozen=True)
class GivenServer:
    """Somebody's own server, named by SHEAF_TEST_NEO4J."""

    url: str
    password: str


AnyServer = Server | GivenServer


@pytest.fixture(scope="session")
def neo4j_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[AnyServer]:
    """The server every test may use and empty, but not stop."""
    if url := os.environ.get("SHEAF_TEST_NEO4J"):
        yield given_server(url, os.environ.get("SHEAF_NEO4J_PASSWORD", ""))
    else:
        yield from own_server(tmp_path_factory.mktemp("neo4j"))


@pytest.fixture(scope="module")
def own_neo4j(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server that the tests of one module may stop, kill and restart.

    Its log grows as it is written, so that a limit on the length of files is felt.
    """
    folder = tmp_path_factory.mktemp("own-neo4j")
    yield from own_server(folder, {"db.tx_log.preallocate": "false"})


def own_server(folder: Path, settings: dict[str, str] | None = None) -> Iterator[Server]:
    try:
        server = Server.start(folder / "home", None, **(settings or {}))
    except CannotBeHad as error:
        skip(str(error))
    yield server
    server.stop()


def skip(sentence: str) -> NoReturn:
    """Where changes are judged nothing may be left untested in silence."""
    if os.environ.get("CI") == "true":
        pytest.fail(sentence)
    pytest.skip(sentence)


def given_server(url: str, password: str) -> GivenServer:
    """The tests empty the database they are given, so it must hold nothing to begin with."""
    try:
        with driver_for(url, password) as driver:
            database = urlsplit(url).path.strip("/") or "neo4j"
            [counted] = rows(driver, "MATCH (n) RETURN count(n) AS nodes", database=database)
    except (DriverError, Neo4jError, ValueError) as error:
        pytest.exit(f"SHEAF_TEST_NEO4J={url} cannot be used: {error}", returncode=2)
    if counted["nodes"]:
        sentence = f"{url} holds {counted['nodes']} nodes; the tests want an empty database"
        pytest.exit(sentence, returncode=2)
    return GivenServer(url, password)
