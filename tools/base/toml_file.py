"""A TOML file that somebody wrote, such as a task; what keeps it from being read, in a sentence."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

from ..errors import UsageError

LARGEST_FILE = 10_000_000


def read_toml(file: Path, what: str = "task") -> dict[str, Any]:
    try:
        if file.stat().st_size > LARGEST_FILE:
            raise UsageError(f"{file} is too large to be a {what}")
        return tomllib.loads(file.read_text(encoding="utf-8-sig"))
    except OSError as error:
        raise UsageError(f"{file} cannot be read: {error.strerror}") from error
    except UnicodeDecodeError:
        raise UsageError(f"{file} is not UTF-8: save it as UTF-8") from None
    except (ValueError, RecursionError) as error:  # a number of 5,000 digits is a ValueError
        raise UsageError(f"{file}: {error}") from None
