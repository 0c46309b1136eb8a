"""`python main.py layers`: the catalogue of tasks; with a name, that task."""

from __future__ import annotations

import sys
from pathlib import Path

from ..base.say import say
from ..errors import UsageError
from . import flags, harvest

SNAPSHOT = ".json"


class LayersOptions(harvest.JobOptions):
    task: str | None
    sample: bool
    status: bool
    check: bool
    trial: str | None
    layer: str | None
    requests: Path | None
    state: str | None
    folder: Path | None


class JobCommand(harvest.JobCommand):
    Options = LayersOptions

    def run(self, options: LayersOptions) -> int:  # type: ignore[override]
        if options.trial is None and options.layer is not None:
            raise UsageError("--layer goes with --try URL")
        if options.task is None and not options.sample and not self._chosen(options):
            return 0
        if options.trial is not None:
            from .layers_trial import show_trial

            return show_trial(harvest.load_settings(options), options)
        if options.status or options.check:
            from .layers_status import show_status

            return show_status(harvest.load_settings(options), options)
        if options.sample and options.task is None and options.state is None:
            from .layers_sample import run_sample

            return run_sample(super().run, options)
        if options.resume is not None and options.resume.suffix == SNAPSHOT:
            options.requests, options.resume = options.resume, None
        return super().run(options)

    def _chosen(self, options: LayersOptions) -> bool:
        """A task, by its user on a terminal; elsewhere the catalogue is all there is."""
        from .layers_catalogue import choose, entries, lines

        settings = flags.load(options)
        found = entries(settings, options.folder)
        say("\n".join(lines(found, options.folder or settings.layers.folder)))
        if options.status or options.check or options.trial is not None:
            raise UsageError("which task? Give its name: python main.py layers NAME ...")
        if not found or not (sys.stdin.isatty() and sys.stdout.isatty()):
            return False
        choice = choose(found)
        if choice is None:
            return False
        options.task, options.fresh = choice
        options.typed.append(options.task)
        return True
