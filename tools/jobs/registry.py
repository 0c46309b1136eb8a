"""The jobs there are, by name. Their modules are imported when somebody asks for one."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from ..errors import UsageError

if TYPE_CHECKING:
    from ..engine.description import Description

DEFAULT = "conceptnet"
"""What is meant where no job is named."""


class Entry(NamedTuple):
    where: str  # its description, as module:name
    does: str
    command: str = "harvest"  # the module of `commands` that runs it


JOBS: dict[str, Entry] = {
    "conceptnet": Entry(
        ".conceptnet_description:CONCEPTNET",
        "walk ConceptNet from seed concepts into a graph (the default)",
    ),
    "pages": Entry(
        ".pages_description:PAGES",
        "crawl sites from a list of seeds into WARC files and a table",
    ),
    "layers": Entry(
        ".layers_description:LAYERS",
        "ask sites for rows of your tables, layer by layer, as tasks say",
        "layers",
    ),
    "structure": Entry(
        ".structure_description:STRUCTURE",
        "turn raw documents into JSON and rows of your tables",
        "structure",
    ),
}
"""One entry a job."""


def job_named(name: str) -> Description:
    if name not in JOBS:
        raise UsageError(f"there is no job {name!r}: take one of {', '.join(JOBS)}")
    module, _, attribute = JOBS[name].where.partition(":")
    found: Description = getattr(import_module(module, __package__), attribute)
    return found


def job_of(facts: Mapping[str, str]) -> Description:
    """Of what a state says of itself. One that is not known here can still be looked at."""
    name = facts.get("job", DEFAULT)
    if name in JOBS:
        return job_named(name)
    from ..engine.description import Description

    stranger = Description()
    stranger.name = name
    return stranger


def job_in(file: Path) -> Description:
    """Of a state file or snapshot."""
    from ..journal.reader import facts_in

    return job_of(facts_in(file))
