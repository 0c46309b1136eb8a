"""What a test needs and a computer may lack."""

from __future__ import annotations

import os
import shutil
from typing import NoReturn

import pytest


def missing(sentence: str) -> NoReturn:
    """Where changes are judged nothing may be left untested in silence."""
    if os.environ.get("CI") == "true":
        pytest.fail(sentence)
    pytest.skip(sentence)


def program(name: str, package: str | None = None) -> str:
    """The path of a program."""
    found = shutil.which(name)
    if found is None:
        missing(f"{name} is not installed: apt-get install {package or name}")
    return found
