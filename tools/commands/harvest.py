"""`python main.py`, `python main.py JOB`: starts a job, or resumes it where it stopped."""

from __future__ import annotations

import argparse
import signal
from collections.abc import Sequence
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING

from ..jobs.registry import job_named
from . import flags

if TYPE_CHECKING:
    from ..settings import Settings


PAGE_PORT = 8085


class JobOptions(flags.Options):
    """What every job has; each adds its own."""

    fresh: bool
    cluster: bool
    resume: Path | None
    dry_run: bool
    log_json: bool
    quiet: bool
    verbose: bool
    metrics: int | None
    serve: int | None
    look: bool


class JobCommand:
    """A command of the name of a job."""

    Options = JobOptions

    def __init__(self, name: str) -> None:
        self._job = job_named(name)

    @property
    def EXAMPLES(self) -> Sequence[str]:
        return self._job.examples

    def arguments(self, parser: argparse.ArgumentParser) -> None:
        self._job.arguments(parser)
        self.shared_arguments(parser)

    def shared_arguments(self, parser: argparse.ArgumentParser) -> None:
        """Those that every job has."""
        add = parser.add_argument
        add(
            "--fresh",
            action="store_true",
            help="set the old state and its files aside, and begin anew",
        )
        add("--cluster", action="store_true", help="let the nodes of the cluster work")
        add("--resume", type=Path, metavar="FILE", help="begin from a snapshot")
        flags.add_dry_run(parser, "say what would be asked; nothing is made or asked")
        flags.add_places(parser, *self._job.place_flags, home=self._job.usual_home)
        add("--metrics", type=flags.whole, metavar="PORT", help="let Prometheus ask at this port")
        add(
            "--serve",
            nargs="?",
            type=flags.whole,
            const=PAGE_PORT,
            metavar="PORT",
            help=f"show how it goes in a browser, live ({PAGE_PORT})",
        )
        add("--look", action="store_true", help="show that page when it has ended, or say how")
        add("--log-json", action="store_true", help="log lines as JSON")
        flags.add_quiet(parser)
        add("-v", "--verbose", action="store_true", help="log what each worker does")

    def run(self, options: JobOptions) -> int:
        settings = load_settings(options)
        if options.dry_run:
            from .plan import show_plan

            return show_plan(self._job, settings, options)
        from ..journal.instance import SIGNALS, only_instance

        for request in ("pause", "resume"):  # whoever asks before we listen must not end us
            signal.signal(SIGNALS[request], signal.SIG_IGN)
        signal.signal(SIGNALS["stop"], _stop_early)
        from .beside import page_beside
        from .session import harvest

        with only_instance(settings.state), page_beside(settings, options):
            return harvest(self._job, settings, options)


class StoppedEarly(SystemExit):
    """Everything that was opened is closed as at any end; the log says why."""

    def __str__(self) -> str:
        return "stopped before anything was handed out"


def _stop_early(_number: int, _frame: FrameType | None) -> None:
    raise StoppedEarly


def load_settings(options: flags.Options) -> Settings:
    """Of the job that was named."""
    if vars(options).get("sample"):
        from .sample_world import begin_there

        begin_there(options)
    settings: Settings = job_named(options.verb).prepared(flags.load(options), options)
    return settings
