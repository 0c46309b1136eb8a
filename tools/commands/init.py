"""`python main.py init`: asks for what a first harvest needs, and writes it into sheaf.toml.

Promise: the file appears whole, and only if all of it is accepted; one that is there stays as it is
unless --force is given. Without a terminal nothing is asked: flags say it, or the defaults hold.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import TYPE_CHECKING, NamedTuple

from ..base.say import say
from ..errors import HarvestError, StopHarvest, UsageError
from . import flags

if TYPE_CHECKING:
    from ..settings import Settings

EXAMPLES = (
    "python main.py init                             asks four questions",
    "python main.py init --contact you@example.org   asks for the rest",
)
FILE = Path("sheaf.toml")


class Options(flags.Options):
    config: Path | None
    contact: str | None
    source: str | None
    seed: list[str] | None
    graph: str | None
    force: bool


class Question(NamedTuple):
    name: str
    text: str
    default: Callable[[Settings], str]


QUESTIONS = (
    Question(
        "contact",
        "Your mail address or web page: Wikimedia refuses those who do not say who asks",
        lambda usual: usual.http.contact,
    ),
    Question("source", "A ConceptNet server, or a file of its dump", lambda usual: usual.source),
    Question("seeds", "Where to begin: concepts with commas between", lambda usual: usual.seeds[0]),
    Question(
        "graph",
        "The graph: sqlite:PATH, or neo4j://user@host:7687",
        lambda usual: usual.graph_url,
    ),
)


def arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("--contact", metavar="ADDRESS", help="your mail address or web page, for providers")
    add("--source", help="a ConceptNet server, or an assertions file")
    add("--seed", action="append", metavar="CONCEPT", help="where to begin (repeatable)")
    add("--force", action="store_true", help="replace a file that is there")
    flags.add_places(parser, "config", "graph")


def run(options: Options) -> int:
    file = options.config or FILE
    if file.exists() and not options.force:
        raise UsageError(f"{file} is there already: edit it, or replace it with --force")
    answers = given(options)
    if sys.stdin.isatty():
        asked(answers)
    elif "contact" not in answers:
        raise UsageError("init needs a terminal to ask, or --contact you@example.org")
    write(file, written(answers), options.force)
    say(f"{file} is written; `python main.py check` tries it, `python main.py` begins")
    return 0


def given(options: Options) -> dict[str, str]:
    """What the flags say already; the settings they make are accepted."""
    answers: dict[str, str] = {}
    seeds = ",".join(options.seed) if options.seed else None
    flags_ = {"contact": options.contact, "source": options.source, "seeds": seeds}
    for name, answer in {**flags_, "graph": options.graph}.items():
        if answer is not None:
            accept(answers | {name: answer.strip()})
            answers[name] = answer.strip()
    return answers


def asked(answers: dict[str, str]) -> None:
    """The rest, one after the other; a wrong answer is asked for again."""
    from ..settings import Settings

    usual = Settings()
    for question in QUESTIONS:
        while question.name not in answers:
            default = question.default(usual)
            said = answer_to(f"{question.text} [{default or 'none'}]: ") or default
            try:
                accept(answers | {question.name: said})
            except HarvestError as error:
                print(f"  {error}")
            else:
                answers[question.name] = said


def answer_to(question: str) -> str:
    try:
        return input(question).strip()
    except EOFError:
        print()
        raise UsageError("the questions were not answered: nothing was written") from None


def accept(answers: dict[str, str]) -> None:
    """Raises what a harvest with these settings would raise at its start."""
    from ..conceptnet.seeds import seeds_of
    from ..graphs.open import name_of

    contact, graph = answers.get("contact", ""), answers.get("graph", "")
    if contact and "@" not in contact and "://" not in contact:
        raise UsageError(f"{contact!r} is no address: write it like you@example.org")
    if graph:
        name_of(graph)  # an address that can be one
    with NamedTemporaryFile("w", suffix=".toml", encoding="utf-8") as file:
        file.write(written(answers))
        file.flush()
        settings = loaded(Path(file.name))
    if settings.source_file is not None:
        from ..conceptnet.dump.lines import Lines  # it takes numpy with it

        Lines(settings.source_file)
    if "seeds" in answers:
        seeds_of(settings.seeds, settings.filter.languages)


def loaded(file: Path) -> Settings:
    from ..settings import load

    return load(file, {})


def written(answers: dict[str, str]) -> str:
    """As TOML: a text in JSON is one there, too."""
    lines = ["# Every other setting stands in sheaf.example.toml, with its default."]
    for name in ("source", "seeds", "graph"):
        if name in answers:
            value = answers[name].split(",") if name == "seeds" else answers[name]
            value = [each.strip() for each in value] if isinstance(value, list) else value
            lines.append(f"{name} = {json.dumps(value)}")
    if answers.get("contact"):
        lines += ["", "[http]", f"contact = {json.dumps(answers['contact'])}"]
    return "\n".join(lines) + "\n"


def write(file: Path, text: str, replaces: bool) -> None:
    """By rename, or by a link, which does not replace what somebody else wrote meanwhile."""
    part = file.with_name(f"{file.name}.part")
    try:
        part.write_text(text, encoding="utf-8")
        if replaces:
            part.replace(file)
        else:
            os.link(part, file)
            part.unlink()
    except FileExistsError:
        part.unlink()
        raise UsageError(f"{file} is there already: edit it, or replace it with --force") from None
    except OSError as error:
        raise StopHarvest(f"{file} cannot be written: {error.strerror}") from error
