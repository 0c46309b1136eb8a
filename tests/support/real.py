"""Real documents and the cases of others, used where they lie beside this checkout."""

from __future__ import annotations

from pathlib import Path

import pytest

PLACES = [parent / "shared" / "real" for parent in Path(__file__).parents[3:5]]


def real(name: str) -> Path:
    """A file or folder of them; what is in it is no part of this project."""
    found = next((place / name for place in PLACES if (place / name).exists()), None)
    if found is None:
        pytest.skip(f"{name} does not lie beside this checkout")
    return found
