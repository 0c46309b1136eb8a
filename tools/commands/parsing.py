"""The words after `python main.py`: which command they name, and its flags.

Promise: no flag is guessed, shortened or ignored. What is wrong is one sentence, with the nearest
right name where there is one.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from importlib import import_module
from typing import Any, NoReturn

from ..base.program import as_typed_here
from ..errors import UsageError
from .verbs import HARVEST, JOBS, VERBS

NEAR = 0.6
PROGRAM = as_typed_here("python main.py")


class Parser(argparse.ArgumentParser):
    """Of one command."""

    def __init__(self, verb: str, program: str = "") -> None:
        self.verb = verb
        module = command(verb)
        super().__init__(
            prog=program or spoken(verb),
            description=f"{VERBS[verb].does[:1].upper()}{VERBS[verb].does[1:]}.",
            epilog=as_typed_here(_commands(verb) + "\n  ".join(("examples:", *module.EXAMPLES))),
            formatter_class=argparse.RawDescriptionHelpFormatter,
            allow_abbrev=False,
        )
        module.arguments(self)
        words = [str(each.metavar) for each in self._get_positional_actions()]
        self.usage = " ".join([self.prog, *(f"[{word}]" for word in words), "[FLAGS]"])

    @property
    def flags(self) -> list[str]:
        return [text for each in self._actions for text in each.option_strings]

    @property
    def spelled(self) -> dict[str, str]:
        """Flags by the names that the options have for what they say."""
        return {each.dest: each.option_strings[-1] for each in self._actions if each.option_strings}

    def read(self, words: Sequence[str]) -> Any:
        """The options of the command, as its module declares them."""
        options = command(self.verb).Options()
        _, rest = self.parse_known_intermixed_args(words, options)
        unknown = [word for word in rest if word.startswith("-") and len(word) > 1]
        if unknown:
            raise UsageError(self._unknown_flag(unknown[0].partition("=")[0]))
        if rest:
            raise UsageError(self._unknown_word(rest[0], words))
        options.verb = self.verb
        return options

    def error(self, message: str) -> NoReturn:
        message = message.removeprefix("argument ")
        message = message.replace("expected one argument", "a value is missing")
        raise UsageError(f"{message} (`{self.prog} --help` lists the flags)")

    def _unknown_flag(self, flag: str) -> str:
        theirs = [verb for verb in VERBS if flag in Parser(verb).flags]
        if theirs:
            return (
                f"{flag} is not a flag of {self.verb}; did you mean `{spoken(theirs[0])} {flag}`?"
            )
        if near := nearest(flag, self.flags):
            return f"{flag} is not a flag of {self.verb}; did you mean {near}?"
        return f"{flag} is not a flag of {self.verb}: `{self.prog} --help` lists those it has"

    def _unknown_word(self, word: str, words: Sequence[str]) -> str:
        if self.verb == HARVEST and word in VERBS:
            import shlex

            others = shlex.join(each for each in words if each != word)
            return f"the command comes first: {PROGRAM} {word} {others}"
        return f"{self.verb} takes no further argument: {word!r}"


def parsed(words: Sequence[str]) -> Any:
    """The first word is the command, if it is no flag."""
    verb, rest = (HARVEST, words)
    if words and not words[0].startswith("-"):
        verb, rest = words[0], words[1:]
    if (longer := " ".join(words[:2])) in VERBS:  # such as `pages show`
        verb, rest = longer, words[2:]
    if verb not in VERBS:
        raise UsageError(_unknown_verb(verb))
    options = Parser(verb).read(rest)
    options.typed = list(words)
    return options


def command(verb: str) -> Any:
    """Its module: `EXAMPLES`, `Options`, `arguments(parser)`, `run(options)`, and `VALUES` where a
    flag has only a few. A job has all that too."""
    module = import_module(f".{VERBS[verb].module}", __package__)
    return module.JobCommand(verb) if verb in JOBS else module


def _commands(verb: str) -> str:
    """Those that begin with this one."""
    others = {name: each for name, each in VERBS.items() if name.startswith(f"{verb} ")}
    if not others:
        return ""
    width = max(map(len, others))
    lines = [f"  {name:{width}}  {each.does}" for name, each in others.items()]
    return "\n".join(["commands:", *lines, "", ""])


def spoken(verb: str) -> str:
    return f"{PROGRAM} {verb}"


def nearest(word: str, known: Sequence[str]) -> str | None:
    import difflib  # only for whoever mistypes

    longer = [each for each in known if each.startswith(word) and len(word) > 3]
    return next(iter(longer or difflib.get_close_matches(word, known, 1, NEAR)), None)


def _unknown_verb(word: str) -> str:
    if near := nearest(word.lower(), [*VERBS]):
        return f"{word!r} is not a command; did you mean {near}?"
    if word.startswith("/c/"):
        return f"{word!r} is not a command; did you mean --seed {word}?"
    return f"{word!r} is not a command: `{PROGRAM} --help` lists them"
