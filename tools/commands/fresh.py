"""`--fresh`: the old harvest is set aside, but only once a new one is known to be able to begin."""

from __future__ import annotations

import logging
from contextlib import ExitStack, closing
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Event

from ..assist.assistant import Assist
from ..base.say import say
from ..conceptnet.graph import open_graph
from ..engine.harvest import Harvest
from ..errors import StopHarvest
from ..graphs.open import is_there
from ..jobs.conceptnet import ConceptnetJob
from ..journal.snapshots import set_aside
from ..media.ledger import Ledger
from ..settings import Settings
from .harvest import Options


def set_old_aside(settings: Settings, options: Options) -> None:
    """Before there is a log: the old one goes with it."""
    rehearse(settings, options)
    way_back = ""
    if aside := set_aside(settings.state):
        say(f"the old state is set aside in {aside}")
        way_back = f"--state {aside}"
    if Ledger(settings.media) and (aside := set_aside(settings.media)):
        say(f"the old media are set aside in {aside}")
        way_back += f" --media {aside}"
    if way_back:
        say(f"to go back: the same command with {way_back.strip()} instead of --fresh")


def rehearse(settings: Settings, options: Options) -> None:
    """Raises what would end a new harvest at its start. What there is stays as it is."""
    if settings.graph and is_there(settings.graph):
        open_graph(settings.graph, settings.neo4j.password).close()
    with ExitStack() as stack:
        folder = Path(stack.enter_context(scratch_folder(settings.state)))
        scratch = replace(settings, state=folder, media=folder / "m", graph="")
        empty = stack.enter_context(closing(open_graph(scratch.graph_url)))
        job = ConceptnetJob(scratch, empty, Event(), "", options.all, options.quiet)
        stack.enter_context(closing(job))
        run = Harvest(job, scratch.pools_file, Event(), scratch.attempts, scratch.stop_grace_s)
        stack.enter_context(closing(run))
        Assist(run, scratch, dict)  # times, and addresses for notices
        logging.disable(logging.WARNING)  # the harvest itself says it again
        stack.callback(logging.disable, logging.NOTSET)
        if not options.sample:  # which brings its own source
            job.open(run.pools)


def scratch_folder(parent: Path) -> TemporaryDirectory[str]:
    try:
        return TemporaryDirectory(dir=parent, prefix="rehearsal-")
    except OSError as error:
        raise StopHarvest(f"{parent} cannot be written: {error.strerror}") from error
