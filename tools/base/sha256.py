"""What a SHA-256 looks like where somebody else wrote it."""

from __future__ import annotations

import re

_SHA256 = re.compile(r"[0-9a-f]{64}")


def is_sha256(said: object) -> bool:
    """
    >>> is_sha256("0f" * 32), is_sha256("0F" * 32), is_sha256("0f" * 32 + chr(10)), is_sha256(None)
    (True, False, False, False)
    """
    return isinstance(said, str) and _SHA256.fullmatch(said) is not None
