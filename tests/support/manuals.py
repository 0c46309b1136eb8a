"""Manuals of others, packages of documentation: unpacked by scripts/test-needs, by somebody else in
the folder that SHEAF_TEST_MANUALS names, or installed."""

from __future__ import annotations

import os
from pathlib import Path

from tests.support.needs import missing

CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
UNPACKED = Path(os.environ.get("SHEAF_TEST_MANUALS") or CACHE / "sheaf/manuals")
PLACES = {  # where the pages lie, and which of them is the first
    "python3.*-doc": ("usr/share/doc/python3.*/html", "index.html"),
    "postgresql-doc-*": ("usr/share/doc/postgresql-doc-*/html", "index.html"),
    "apache2-doc": ("usr/share/doc/apache2-doc/manual", "en/index.html"),
    "cppreference-doc-en-html": ("usr/share/cppreference/doc/html", "en/index.html"),
}


def manual(name: str) -> Path:
    """The folder of this one, by the pattern of its package's name."""
    place, first = PLACES[name]
    roots = (UNPACKED, *UNPACKED.glob("*"), Path("/"))
    files = [file for root in roots for file in root.glob(f"{place}/{first}")]
    if not files:
        missing(
            f"{name} is not here: scripts/test-needs gets it; SHEAF_TEST_MANUALS names its folder"
        )
    return files[0].parents[first.count("/")]
