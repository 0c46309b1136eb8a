"""`python main.py --dry-run`: what a harvest would do, by what lies on the disk.

Promise: nothing is made, and nobody is asked: no source, no provider, no server.
"""

from __future__ import annotations

from argparse import Namespace

from ..base.text import one_line
from ..engine.description import Description
from ..journal.holder import running
from ..journal.reader import look
from ..reports.progress import two_columns
from ..settings import Settings


def show_plan(job: Description, settings: Settings, options: Namespace) -> int:
    state = ("state", f"{settings.state}: {_state(job, settings, options)}")
    rows = [(name, one_line(text)) for name, text in (*job.plan(settings, options), state)]
    print(f"{two_columns(rows)}\nnothing was made or asked (--dry-run)")
    return 0


def _state(job: Description, settings: Settings, options: Namespace) -> str:
    if holder := running(settings.state):
        return f"a harvest runs there (process {holder.pid}), a second one would be refused"
    if options.resume:
        return f"would begin from {options.resume}"
    if not settings.pools_file.exists():
        return "new, it begins with the seeds"
    if options.fresh:
        return "would be set aside, it begins anew with the seeds"
    pools = look(settings.pools_file, job.whole_file).pools
    return "goes on: " + ", ".join(f"{name} {count:,}" for name, count in pools.items())
