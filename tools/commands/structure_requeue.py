"""`python main.py structure requeue NAME`: what failed fewer than three times waits again."""

from __future__ import annotations

import argparse
from contextlib import closing
from pathlib import Path

from ..errors import AlreadyRunning, UsageError
from . import flags
from .structure import JOB

EXAMPLES = (
    "python main.py structure requeue register                  all of them",
    "python main.py structure requeue register --stage export   those of a stage",
    'python main.py structure requeue register --reason "not done"',
)
STAGES = ("parse", "export")
VALUES = {"--stage": STAGES}
MOST_ATTEMPTS = 3
FAILED = (
    "SELECT count(*), coalesce(sum(attempts >= ?), 0) FROM uri JOIN pool ON pool.id = failed_in "
    "WHERE uri.pool = 1 AND name = ? AND instr(lower(coalesce(reason, '')), lower(?))"
)


class Options(flags.Options):
    name: str | None
    folder: Path | None
    stage: str | None
    reason: str


def arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("name", nargs="?", metavar="NAME", help="which structure")
    add("--stage", choices=STAGES, metavar="STAGE", help="only those that failed in it")
    text = "a part of the reason, as status shows it"
    add("--reason", default="", metavar="TEXT", help=text)
    add("--folder", type=Path, metavar="DIR", help="where the structures are (structures)")
    flags.add_places(parser, "config", "state", home="state-structure/NAME")


def run(options: Options) -> int:
    from ..engine.pools import Pools
    from ..jobs.registry import job_named
    from ..journal.instance import only_instance
    from ..journal.reader import moment

    settings = job_named(JOB).prepared(flags.load(options), options)
    file = settings.pools_file
    if not file.exists():
        raise UsageError(
            f"{options.name} has not been started yet: `python main.py structure {options.name}` "
            "does it"
        )
    stages = {stage.name: stage for stage in job_named(JOB).stages(settings)}
    wanted = [options.stage] if options.stage else [*STAGES]
    with moment(file) as db:
        found = [
            db.execute(FAILED, (MOST_ATTEMPTS, f"to_{stage}", options.reason)).fetchone()
            for stage in wanted
        ]
    failed, spent = (sum(each) for each in zip(*found, strict=True))
    try:
        with only_instance(settings.state), closing(Pools(file, [*stages.values()])) as pools:
            ways = [(options.reason, stages[stage], MOST_ATTEMPTS) for stage in wanted]
            back = sum(pools.revive(*way) for way in ways)
    except AlreadyRunning as error:
        raise AlreadyRunning(f"{error}: stop it first, or wait until it has ended") from error
    print(f"failed: {failed:,}\nfailed three times: {spent:,}\nput back: {back:,}")
    if back:
        print(f"`python main.py structure {options.name}` goes on with them")
    return 0
