"""The jobs there are, by name. Their modules are imported when somebody asks for one."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from pathlib import Path

from ..engine.job import Description
from ..errors import UsageError
from ..journal.reader import facts_in

DEFAULT = "conceptnet"

JOBS: dict[str, str] = {
    "conceptnet": "tools.jobs.conceptnet_description:CONCEPTNET",
}
"""A line a job: its name, and where its description stands."""


def job_named(name: str) -> Description:
    if name not in JOBS:
        raise UsageError(f"there is no job {name!r}: take one of {', '.join(JOBS)}")
    module, _, attribute = JOBS[name].partition(":")
    found: Description = getattr(import_module(module), attribute)
    return found


def job_of(facts: Mapping[str, str]) -> Description:
    """Of what a state says of itself. One that is not known here can still be looked at."""
    name = facts.get("job", DEFAULT)
    if name in JOBS:
        return job_named(name)
    stranger = Description()
    stranger.name = name
    return stranger


def job_in(file: Path) -> Description:
    """Of a state file or snapshot."""
    return job_of(facts_in(file))
