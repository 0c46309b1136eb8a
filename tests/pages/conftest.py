"""A crawl of the garden book that several tests look at, and copies of it to be spoilt."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.support.command import run


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
