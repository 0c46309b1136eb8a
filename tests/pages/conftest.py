"""What the tests of this folder share: a PostgreSQL server, and a crawl of the garden book."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.command import run
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


@pytest.fixture(scope="session")
def whole_crawl(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """To be read only."""
    folder = tmp_path_factory.mktemp("garden")
    flags = ("--depth", 3, "--download-workers", 5, "--per-host", 5, "-q")
    done = run("main.py", "pages", "--sample", *flags, cwd=folder)
    assert done.returncode == 0, done.stderr
    return folder


@pytest.fixture
def crawled(whole_crawl: Path, tmp_path: Path) -> Path:
    shutil.copytree(whole_crawl, tmp_path, dirs_exist_ok=True)
    return tmp_path
