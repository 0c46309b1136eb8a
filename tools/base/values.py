"""What stands behind a flag, as a value; what is wrong with it in words."""

from __future__ import annotations

import argparse
import math


def words(text: str) -> tuple[str, ...]:
    return tuple(word.strip() for word in text.split(",") if word.strip())


def whole(text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number") from None


def number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number") from None


def finite(text: str) -> float:
    """nan and inf are no numbers."""
    if not math.isfinite(found := number(text)):
        raise argparse.ArgumentTypeError(f"{text!r} is not a number")
    return found
