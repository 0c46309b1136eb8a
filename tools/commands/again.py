"""The command that goes on with a harvest, as its user typed it last."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping, Sequence

from ..base.program import as_typed_here

SAMPLE, REAL = "the built-in sample", "ConceptNet"
"""What is harvested, as a state remembers it."""

_ONCE = re.compile(r"--fre(?:s|sh)?|--res(?:u|um|ume)?(?:=.*)?")  # argparse takes beginnings too
_PASSWORD = re.compile(r"://[^/]*:[^/]*@")


def facts_of(typed: Sequence[str]) -> dict[str, str]:
    """For the state; without what is done only once, and never with a password."""
    words: list[str] = []
    for place, word in enumerate(typed):
        is_file = place > 0 and _is_resume(typed[place - 1])
        if not is_file and not _ONCE.fullmatch(word):
            words.append(word)
    text = shlex.join(words)
    return {} if _PASSWORD.search(text) else {"command": text}


def command_of(facts: Mapping[str, str]) -> str:
    """By what the state remembers."""
    flags, world = facts.get("command"), facts.get("world", REAL)
    if flags is None:  # of an older version
        whole = "--source FILE --all" if world.startswith("all of ") else ""
        flags = "--sample" if world == SAMPLE else whole
    return as_typed_here(f"python main.py {flags}".strip())


def _is_resume(word: str) -> bool:
    return word.startswith("--res") and _ONCE.fullmatch(word) is not None and "=" not in word
