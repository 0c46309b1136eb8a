"""Assertions in the exact format of ConceptNet's dump, and what a server over them says.

One file is our own and always here; a slice of the real dump is used as well where it lies beside
this checkout.
"""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

OWN = Path(__file__).parents[1] / "data" / "assertions.csv"
REAL = Path(__file__).parents[3] / "shared" / "conceptnet" / "real-slice.assertions.csv.gz"
SLICES = [each for each in (OWN, REAL) if each == OWN or each.exists()]

any_slice = pytest.mark.parametrize("path", SLICES, ids=["own", "real"][: len(SLICES)])


def lines_of(path: Path) -> list[str]:
    content = path.read_bytes()
    text = gzip.decompress(content) if path.suffix == ".gz" else content
    return text.decode().removesuffix("\n").split("\n")


def answer_beside(path: Path, name: str) -> Any:
    """What the server said that was asked."""
    return json.loads((path.parent / "answers" / name).read_text(encoding="utf-8"))
