"""Flags that several commands share, and the settings they change."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..base.values import finite as finite
from ..base.values import whole as whole
from ..errors import UsageError
from ..jobs.conceptnet_arguments import add_filter as add_filter
from ..jobs.conceptnet_arguments import add_language as add_language

if TYPE_CHECKING:
    from ..settings import Settings

PLACES: dict[str, dict[str, Any]] = {
    "config": {"type": Path, "metavar": "FILE", "help": "settings (default: sheaf.toml)"},
    "state": {"metavar": "DIR", "help": "where the harvest keeps its record ({home})"},
    "graph": {
        "metavar": "URL",
        "help": "sqlite:PATH (default: graph.db in the state) or neo4j://user@host:7687/database",
    },
    "media": {"metavar": "DIR", "help": "where media files go (m)"},
}
TOLD = ("pause", "resume", "stop")  # commands to a harvest that runs
OF_SETTINGS = (
    *("source", "graph", "media", "state", "limit", "depth", "fetch_workers", "extend_workers"),
)

CHANGED_BY: dict[str, tuple[str, ...]] = {
    **{name: (name,) for name in OF_SETTINGS},
    "filter.languages": ("language",),
    "filter.relations": ("relations", "with_relations", "without"),
    "filter.min_weight": ("min_weight",),
    "assist.metrics": ("metrics",),
    **dict.fromkeys(("extend.images", "extend.sounds", "extend.gifs"), ("no_media",)),
}
"""The settings that `load` changes, and the flags it does so by, by their names in the options."""


class Options(argparse.Namespace):
    """What every command has; each declares its own besides."""

    verb: str
    typed: list[str]


class Filtered(Options):
    """The flags of the filter."""

    language: tuple[str, ...] | None
    relations: tuple[str, ...] | None
    with_relations: tuple[str, ...] | None
    without: tuple[str, ...] | None
    min_weight: float | None


def add_places(to: argparse.ArgumentParser, *names: str, home: str = "state") -> None:
    """`home` is the state folder where nobody names one."""
    group = to.add_argument_group("where things are")
    for name in names:
        about = PLACES[name]
        group.add_argument(f"--{name}", **about | {"help": about["help"].format(home=home)})


def add_home(to: argparse.ArgumentParser) -> None:
    """Which harvest is meant, for commands that serve every job."""
    to.add_argument("--job", metavar="NAME", help="that of this job (`jobs` lists them)")
    add_places(to, "config", "state")


def add_quiet(to: argparse.ArgumentParser) -> None:
    to.add_argument("-q", "--quiet", action="store_true", help="only errors")


def add_dry_run(to: argparse.ArgumentParser, text: str) -> None:
    to.add_argument("--dry-run", action="store_true", help=text)


def nothing_at(file: Path, options: argparse.Namespace) -> UsageError:
    """There is no state file; how to begin with the job that is meant."""
    command = f"python main.py {vars(options).get('job') or ''}".strip()
    return UsageError(f"there is no harvest at {file} yet: {command} starts one")


def load(options: argparse.Namespace, **more: Any) -> Settings:
    """Defaults, then the file, then the flags, as far as the command has such."""
    from .. import settings as settings_of

    given = vars(options)
    flags = {name: given.get(name) for name in OF_SETTINGS}
    settings = settings_of.load(given.get("config"), flags | more)
    if "language" in given:
        settings = settings_of.narrowed(
            settings,
            given["language"],
            given.get("relations"),
            given.get("with_relations"),
            given.get("without"),
            given.get("min_weight"),
        )
    if given.get("state") is None:
        settings = _at_home(settings, options)
    if given.get("metrics") is not None:
        settings = settings_of.with_metrics(settings, given["metrics"])
    if given.get("no_media"):
        from dataclasses import replace

        settings = replace(settings, extend=replace(settings.extend, images=0, sounds=0, gifs=0))
    return settings


def _at_home(settings: Settings, options: argparse.Namespace) -> Settings:
    """With the state folder of the job that is meant, where nobody named a folder."""
    from dataclasses import replace

    from ..jobs.registry import DEFAULT, JOBS, job_named
    from ..journal.holder import running

    def at(job: str) -> Settings:
        return replace(settings, state=job_named(job).home(settings))

    given = vars(options)
    if "job" not in given:  # a command of one job
        verb = str(given.get("verb")).partition(" ")[0]
        return at(verb if verb in JOBS else DEFAULT)
    usual = options.job or DEFAULT
    if given.get("file") is not None:
        return at(usual)
    jobs = JOBS if options.job is None else (usual,)
    homes = [(job, home) for job in jobs for home in job_named(job).homes(settings)]
    begun = [each for each in homes if replace(settings, state=each[1]).pools_file.exists()]
    found = {home: job for job, home in reversed(begun)}  # of two in one place the first
    if given.get("verb") in TOLD:  # only one that runs can be meant
        found = {home: job for home, job in found.items() if running(home)} or found
    if len(found) > 1:
        named = ", ".join(_meant(job, home, homes) for home, job in reversed(found.items()))
        raise UsageError(f"there are several harvests here; say which one is meant: {named}")
    return replace(settings, state=next(iter(found))) if found else at(usual)


def _meant(job: str, home: Path, homes: Sequence[tuple[str, Path]]) -> str:
    """How to name this one of several."""
    is_only = len([name for name, _ in homes if name == job]) == 1
    return f"--job {job} (in {home})" if is_only else f"--state {home}"
