"""The command that goes on with a harvest, as its user typed it last."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping, Sequence

from ..base.program import as_typed_here
from ..jobs.registry import job_of

_ONCE = re.compile(r"--fre(?:s|sh)?|--res(?:u|um|ume)?(?:=.*)?")  # argparse takes beginnings too
_PASSWORD = re.compile(r"://\S*:\S*@")  # it may hold a slash, a comma, a quote


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
    flags = facts.get("command")
    if flags is None:  # of an older version
        flags = job_of(facts).command_before(facts)
    return as_typed_here(f"python main.py {flags}".strip())


def _is_resume(word: str) -> bool:
    return word.startswith("--res") and _ONCE.fullmatch(word) is not None and "=" not in word
