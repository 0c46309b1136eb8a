"""An export's file with something changed in it, and what is said of it."""

from __future__ import annotations

import json
from collections.abc import Callable
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest

from tests.support.register import EXPORT
from tools.errors import UsageError
from tools.structure.mapping import Export, read_mapping

Change = Callable[[dict[str, Any]], object]


def written(folder: Path, said: Any, name: str = "register.json") -> Path:
    file = folder / name
    file.write_text(json.dumps(said, ensure_ascii=False, indent=4), encoding="utf-8")
    return file


def changed(change: Change) -> dict[str, Any]:
    export = deepcopy(EXPORT)
    change(export)
    return export


def read(folder: Path, change: Change = lambda _: None) -> Export:
    return read_mapping(written(folder, changed(change)))


def mistakes(folder: Path, change: Change) -> list[str]:
    with pytest.raises(UsageError) as caught:
        read(folder, change)
    return str(caught.value).splitlines()


def mapping(name: str, **parts: Any) -> Change:
    """With these parts of a mapping instead."""
    return lambda export: export["mapping"][name].update(parts)


def column(table: str, number: int, **parts: Any) -> Change:
    return lambda export: export["table"][table][number].update(parts)
