"""`python main.py completion bash`: a script for the shell, made from the parsers, that completes
commands, flags and the values of those that have a few."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Iterator

from ..errors import UsageError
from . import flags
from .parsing import Parser, command
from .verbs import HARVEST, VERBS

EXAMPLES = (
    'eval "$(python main.py completion bash)"    in ~/.bashrc',
    'eval "$(python main.py completion zsh)"     in ~/.zshrc, after compinit',
)

BASH = """# Completes python main.py, python history.py, python clear.py and sheaf.
_sheaf() {{
    local word="${{COMP_WORDS[COMP_CWORD]}}" before="${{COMP_WORDS[COMP_CWORD - 1]}}"
    local verb="" first=1 flags="" words=""
    COMPREPLY=()
    case "${{COMP_WORDS[0]##*/}}" in python*)
        first=2
        (( COMP_CWORD > 1 )) || return 0
        case "${{COMP_WORDS[1]##*/}}" in
            main.py) ;;
            history.py) verb=history ;;
            clear.py) verb=clear ;;
            *) return 0 ;;
        esac
    esac
    if [[ -z "$verb" ]]; then
        verb="${{COMP_WORDS[first]}}"
        if (( COMP_CWORD == first )); then words="{verbs}"; verb={harvest}; fi
        if (( COMP_CWORD == first + 1 )); then
            case "$verb" in
{seconds}
            esac
        elif (( COMP_CWORD > first + 1 )); then
            case "$verb ${{COMP_WORDS[first + 1]}}" in
                {longer}) verb="$verb ${{COMP_WORDS[first + 1]}}" ;;
            esac
        fi
        if [[ "$verb" == -* ]]; then verb={harvest}; fi
    fi
    case "$verb" in
{cases}
    esac
    case "$verb:$before" in
{values}
    esac
    if [[ "$word" == -* ]]; then words="$flags"; fi
    COMPREPLY=( $(compgen -W "$words" -- "$word") )
}}
complete -o default -F _sheaf {programs}
"""
ZSH = """# Completion of Sheaf in zsh: the one for bash, which zsh can run.
autoload -U +X bashcompinit && bashcompinit
"""
PROGRAMS = "python python3 sheaf"
SHELLS = ("bash", "zsh")
VALUES = {"": SHELLS}
"""What may follow a flag; without a flag, the command itself."""


class Options(flags.Options):
    shell: str | None


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("shell", nargs="?", metavar="SHELL", help="bash or zsh")


def run(options: Options) -> int:
    if options.shell not in SHELLS:
        raise UsageError("completion needs the name of a shell, bash or zsh")
    print((ZSH if options.shell == "zsh" else "") + bash_script(), end="")
    return 0


def bash_script() -> str:
    seconds = seconds_of(VERBS)
    return BASH.format(
        verbs=" ".join(verb for verb in VERBS if " " not in verb),
        harvest=HARVEST,
        seconds="\n".join(
            f'                {first}) words="{" ".join(others)}" ;;'
            for first, others in seconds.items()
        ),
        longer="|".join(f'"{verb}"' for verb in VERBS if " " in verb),
        cases="\n".join(f'        "{verb}") flags="{_flags(verb)}" ;;' for verb in VERBS),
        values="\n".join(_values()),
        programs=PROGRAMS,
    )


def seconds_of(verbs: Iterable[str]) -> dict[str, list[str]]:
    """The second words of those that have one, by the first.

    >>> seconds_of(["pages", "pages show", "pages words", "stop"])
    {'pages': ['show', 'words']}
    """
    found: dict[str, list[str]] = {}
    for first, _, second in (verb.partition(" ") for verb in verbs):
        if second:
            found.setdefault(first, []).append(second)
    return found


def _flags(verb: str) -> str:
    return " ".join([*Parser(verb).flags, "--version"] if verb == HARVEST else Parser(verb).flags)


def _values() -> Iterator[str]:
    """What may follow a flag, or the command itself. After any other word come files."""
    for verb in VERBS:
        for flag, words in getattr(command(verb), "VALUES", {}).items():
            yield f'        "{verb}:{flag or verb}") words="{" ".join(words)}" ;;'
