"""What the tests of the live page share: a harvest that has ended, and a browser."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.command import run
from tests.web.eyes import Eyes, eyes
from tests.web.scene import Served, served
from tests.web.serving import Sampled
from tools.media.ledger_lines import FILES


@pytest.fixture(scope="session")
def harvested(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small part of the sample. Nobody changes it."""
    folder = tmp_path_factory.mktemp("harvested")
    done = run("main.py", "--sample", "--limit", "12", "--depth", "1", "-q", cwd=folder)
    assert done.returncode == 0, done.stderr
    return folder


@pytest.fixture(scope="session")
def sampled(tmp_path_factory: pytest.TempPathFactory) -> Sampled:
    """The folder in which the sample of a job was harvested. Nobody changes it."""

    @functools.cache
    def folder_of(job: str) -> Path:
        folder = tmp_path_factory.mktemp(job)
        done = run("main.py", job, "--sample", "-q", cwd=folder)
        assert done.returncode == 0, done.stderr
        (folder / "m").mkdir()  # where another job may have its media
        (folder / "m" / FILES).write_text(
            '{"path": "x.jpg", "owner": "/c/en/x", "kind": "image"}\n'
        )
        return folder

    return folder_of


@pytest.fixture(scope="module")
def page(harvested: Path) -> Iterator[Served]:
    with served(harvested) as found:
        yield found


@pytest.fixture(scope="module")
def browser() -> Iterator[Eyes]:
    with eyes() as found:
        yield found
