"""`python main.py structure`: the catalogue of structures; with a name, all stages of that one."""

from __future__ import annotations

from argparse import ArgumentParser
from collections.abc import Sequence
from pathlib import Path

from ..base.say import say
from ..errors import UsageError
from . import flags, harvest

JOB = "structure"


class StructureOptions(harvest.JobOptions):
    name: str | None
    sample: bool
    folder: Path | None
    watch: bool
    only_stage: str | None
    again: bool
    sources: str | None
    to: str | None
    archive: Sequence[str]


class JobCommand(harvest.JobCommand):
    Options = StructureOptions

    def run(self, options: StructureOptions) -> int:  # type: ignore[override]
        if options.sample and options.name is None:
            from .structure_sample import run_seed_bank

            return run_seed_bank(super().run, options)
        if options.name is None:
            return show_catalogue(options)
        return super().run(options)


def show_catalogue(options: StructureOptions) -> int:
    from .structure_catalogue import catalogue_lines

    if options.watch:
        raise UsageError("which structure? Give its name: python main.py structure NAME --watch")
    say("\n".join(catalogue_lines(flags.load(options), options.folder)))
    return 0


def stage_arguments(parser: ArgumentParser) -> None:
    """Of a command that runs one stage: those of the whole job, but for what is only of it."""
    from ..jobs.structure_arguments import add_structure_flags

    add_structure_flags(parser)
    JobCommand(JOB).shared_arguments(parser)


def run_stage(stage: str, options: StructureOptions) -> int:
    if options.name is None:
        raise UsageError(f"which structure? Give its name: python main.py structure {stage} NAME")
    options.verb, options.only_stage = JOB, stage
    return JobCommand(JOB).run(options)
