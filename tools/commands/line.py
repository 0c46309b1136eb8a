"""The command line of main.py: a command and its flags in, an exit code out."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from functools import partial

from ..base.say import say
from ..base.version import VERSION
from .entry import entry
from .parsing import Parser, command, parsed
from .verbs import overview


def main(argv: Sequence[str] | None = None) -> int:
    words = sys.argv[1:] if argv is None else argv
    return entry("sheaf", partial(run, words))


def run(words: Sequence[str]) -> int:
    first = words[0] if words else ""
    if first in ("-h", "--help"):
        say(overview())
        return 0
    if first == "--version":
        say(f"sheaf {VERSION}")
        return 0
    options = parsed(words)
    code = int(command(options.verb).run(options))
    if vars(options).get("look"):
        from .afterwards import show_page

        show_page(options)
    return code


def script(verb: str, argv: Sequence[str] | None = None) -> int:
    """One command as a program of its own: history.py, clear.py."""
    words = sys.argv[1:] if argv is None else argv

    def run_it() -> int:
        return int(command(verb).run(Parser(verb, f"python {verb}.py").read(words)))

    return entry(verb, run_it)
