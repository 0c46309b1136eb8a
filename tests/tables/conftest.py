"""What the tests of this folder share: servers of databases."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.support.mariadb_server import MariadbServer, mariadb_server
from tests.support.postgres_server import PostgresServer, postgres_server


@pytest.fixture(scope="session")
def postgres() -> Iterator[PostgresServer]:
    with postgres_server(has_password=True) as server:
        yield server


@pytest.fixture(scope="session")
def mariadb() -> Iterator[MariadbServer]:
    with mariadb_server() as server:
        yield server
