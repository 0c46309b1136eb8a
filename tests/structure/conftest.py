"""What the tests of this folder share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.support.mongodb_server import MongodbServer, mongodb_server


@pytest.fixture(scope="session")
def mongodb() -> Iterator[MongodbServer]:
    with mongodb_server() as server:
        yield server
