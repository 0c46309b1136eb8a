"""`--fresh`: the old harvest is set aside, but only once a new one is known to be able to begin."""

from __future__ import annotations

import logging
from argparse import Namespace
from contextlib import ExitStack, closing
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Event

from ..assist.assistant import Assist
from ..base.say import say
from ..engine.description import Description
from ..engine.harvest import Harvest
from ..errors import StopHarvest
from ..journal.snapshots import set_aside
from ..settings import Settings


def set_old_aside(job: Description, settings: Settings, options: Namespace) -> None:
    """Before there is a log: the old one goes with it."""
    rehearse(job, settings, options)
    way_back = ""
    if aside := set_aside(settings.state):
        say(f"the old state is set aside in {aside}")
        way_back = f"--state {aside}"
    for name, folder in job.products(settings).items():
        if aside := set_aside(folder):
            say(f"the old {name} folder is set aside in {aside}")
            way_back += f" --{name} {aside}"
    for sentence in job.set_aside(settings):
        say(sentence)
    if way_back:
        say(f"to go back: the same command with {way_back.strip()} instead of --fresh")


def rehearse(description: Description, settings: Settings, options: Namespace) -> None:
    """Raises what would end a new harvest at its start. What there is stays as it is."""
    with ExitStack() as stack:
        folder, stop = Path(stack.enter_context(scratch_folder(settings.state))), Event()
        scratch = replace(settings, state=folder, media=folder / "m", graph="")
        job = stack.enter_context(closing(description.rehearsed(settings, scratch, options, stop)))
        run = Harvest(job, scratch.pools_file, stop, scratch.attempts, scratch.stop_grace_s)
        stack.enter_context(closing(run))
        Assist(run, scratch, dict)  # times, and addresses for notices
        logging.disable(logging.WARNING)  # the harvest itself says it again
        stack.callback(logging.disable, logging.NOTSET)
        job.open(run)


def scratch_folder(parent: Path) -> TemporaryDirectory[str]:
    try:
        return TemporaryDirectory(dir=parent, prefix="rehearsal-")
    except OSError as error:
        raise StopHarvest(f"{parent} cannot be written: {error.strerror}") from error
