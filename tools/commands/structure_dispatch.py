"""`python main.py structure dispatch NAME`: what is new in its sources waits to be parsed."""

from __future__ import annotations

from functools import partial

from .structure import StructureOptions, run_stage, stage_arguments

EXAMPLES = ("python main.py structure dispatch register   what is new, parsing none",)
Options = StructureOptions
arguments = stage_arguments
run = partial(run_stage, "dispatch")
