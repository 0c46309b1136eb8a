"""The settings of a run as its log names them, one by one again.

Limit: a value that was too long stands there cut, within brackets or quotes, and is found by that.
"""

from __future__ import annotations

import re

from ..assist.run_log import LONGEST

BETWEEN = ", "
_TOKEN = re.compile(r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"|, |.")


def settings_in(text: str) -> list[str]:
    """
    >>> settings_in("seeds=('/c/en/dog', '/c/en/cat'), depth=2, name='a, b=(c'")
    ["seeds=('/c/en/dog', '/c/en/cat')", 'depth=2', "name='a, b=(c'"]
    >>> settings_in("none, of these"), settings_in("")
    (['none', 'of these'], [])
    """
    found, at = [], 0
    while at < len(text):
        end = _end_of(text, at)
        found.append(text[at:end])
        at = end + len(BETWEEN)
    return found


def _end_of(text: str, begin: int) -> int:
    """Of the setting that begins there: at a comma outside of brackets and quotes, or where it was
    cut."""
    value = text.find("=", begin) + 1 or begin
    depth = 0
    for token in _TOKEN.finditer(text, value):
        if token.end() > value + LONGEST or token[0] in "'\"":
            return _next_comma(text, value + LONGEST)
        depth += (token[0] in "([{") - (token[0] in ")]}")
        if token[0] == BETWEEN and depth <= 0:
            return token.start()
    return len(text)


def _next_comma(text: str, least: int) -> int:
    place = text.find(BETWEEN, least)
    return len(text) if place < 0 else place
