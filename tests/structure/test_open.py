"""Which source a text names."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.command import ROOT
from tools.errors import UsageError
from tools.structure.sources.folder import FolderSource
from tools.structure.sources.mongodb import MongoSource
from tools.structure.sources.open import open_source


@pytest.mark.parametrize(
    ("uri", "sentence"),
    [
        ("foldr:raw", "write it like folder:PATH"),
        ("folder", "write it like folder:PATH"),
        ("folder:", "write it like folder:PATH"),
        ("cvs:x", "write it like csv:FILE"),
        ("mongo://me:hush@h/x", "write it like mongodb://host"),
        ("raw", "write it like"),
        ("", "write it like folder:PATH, warc:FILE"),
        ("pages:x", "write it like pages:STATE"),  # nobody handed it in
        ("folder:nowhere", "there is no folder"),
        ("warc:nowhere", "there is no file"),
    ],
)
def test_a_wrong_text_is_told_with_the_nearest_right_one(
    uri: str, sentence: str, tmp_path: Path
) -> None:
    with pytest.raises(UsageError, match=sentence) as told:
        open_source(uri, tmp_path, 100)
    assert "hush" not in str(told.value)


def test_each_kind_is_opened(tmp_path: Path) -> None:
    assert isinstance(open_source("folder:.", tmp_path, 100), FolderSource)
    source = open_source("mongodb://127.0.0.1:1/db/c?body=x", tmp_path, 100)
    assert isinstance(source, MongoSource)
    source.close()
    given = open_source("folder:.", tmp_path, 100)
    assert open_source("pages:x", tmp_path, 1, lambda: {"pages": lambda *_: given}) is given


def test_the_driver_of_mongodb_is_imported_only_by_those_who_use_it() -> None:
    program = "import tools.structure.sources.open, sys; print('pymongo' in sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, timeout=60
    )
    assert done.stdout.strip() == "False", done.stderr
