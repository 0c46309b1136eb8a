"""The register that other tests use says what it claims to say."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.support.register import DOCUMENTS, TRUTH, as_truth, make_register


@pytest.mark.parametrize("name", DOCUMENTS)
def test_its_parsers_make_of_its_files_what_it_says(name: str, tmp_path: Path) -> None:
    structures = make_register(tmp_path)
    raw = (structures / "raw" / name).read_bytes()
    assert parsed(structures, name, raw) == DOCUMENTS[name]


def parsed(structures: Path, name: str, raw: bytes) -> Any:
    if name.endswith(".json"):
        return json.loads(raw)
    script = "company.py" if name.endswith(".html") else "licence.py"
    made: dict[str, Any] = {}
    exec((structures / "parsers" / script).read_text(encoding="utf-8"), made)
    return made["RawParser"]().parse(raw)


def test_the_same_folder_twice_has_the_same_bytes(tmp_path: Path) -> None:
    first, second = (make_register(tmp_path / each) for each in "ab")
    for file in (each for each in first.rglob("*") if each.is_file()):
        assert file.read_bytes() == (second / file.relative_to(first)).read_bytes()


def test_numbers_of_any_database_are_its_rows() -> None:
    assert as_truth([["91A", 1, 10.5, -3]]) == TRUTH["assets"]
