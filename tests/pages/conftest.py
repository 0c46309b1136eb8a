"""A PostgreSQL server for the tests of this folder."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.support.postgres_server import PostgresServer, postgres_server


@pytest.fixture(scope="session")
def postgres() -> Iterator[PostgresServer]:
    """Not to be stopped; each test takes a database of its own."""
    with postgres_server() as server:
        yield server


@pytest.fixture(scope="module")
def own_postgres() -> Iterator[PostgresServer]:
    """One that may be stopped, and wants a password."""
    with postgres_server(has_password=True) as server:
        yield server
