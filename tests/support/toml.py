"""Settings as a user writes them, and what is said of wrong ones."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from tools.errors import UsageError
from tools.settings import Settings, load


def written(text: str) -> Path:
    file = Path("other.toml")
    file.write_text(text, encoding="utf-8")
    return file


def loaded(text: str, **flags: Any) -> Settings:
    return load(written(text), flags)


def refusal(text: str, **flags: Any) -> str:
    """What is said, but for the place in the file."""
    return re.sub(r" \(other\.toml, line \d+\)$", "", whole_refusal(text, **flags))


def whole_refusal(text: str, **flags: Any) -> str:
    with pytest.raises(UsageError) as caught:
        loaded(text, **flags)
    sentence = str(caught.value)
    assert sentence
    assert "\n" not in sentence
    return sentence


def secret_file(text: str, mode: int = 0o600, name: str = "proxies.txt") -> Path:
    file = Path(name)
    file.write_bytes(text.encode())
    file.chmod(mode)
    return file
