"""python -m tests.soak: harvests a large sample while everything goes wrong, and compares.

    python -m tests.soak                    five minutes of random faults, ten times the sample
    python -m tests.soak --hours 8          the same for a night
    python -m tests.soak --kills 100        only kills, as fast as they come, on a small world
    python -m tests.soak --processes 4      media in four worker processes, which come to harm too

The time is that of the faults: an undisturbed harvest comes before it and a calm end after it. Exit
code 0 means that every disturbed harvest has ended as the undisturbed one did, 1 that one has not;
then the seed and the folder with everything are printed. The folders of the disturbed harvests lie
in memory, some hundred megabytes at ten times the sample: that is how a disk is full at will, and
why it wants to be root.
"""

from __future__ import annotations

import argparse
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from random import Random

from tests.soak.harvest import KINDS
from tests.soak.soak import Plan, Soak

SHOWN = 40
KILLS_SCALE = 0.05  # so that many of the kills come near the end of a harvest
LARGE = 2  # from this scale on only concepts get media, and only pictures: else it takes hours


def main(argv: Sequence[str] | None = None) -> int:
    arguments = parser().parse_args(argv)
    folder = arguments.folder or Path(tempfile.mkdtemp(prefix="sheaf-soak-"))
    folder.mkdir(parents=True, exist_ok=True)
    if any(folder.iterdir()):
        print(f"{folder} is not empty: name a new folder", file=sys.stderr)
        return 2
    plan = plan_of(arguments)
    print(f"seed {plan.seed}, folder {folder}", file=sys.stderr)
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # to leave no mount and no process
    soak, begun = Soak(plan, folder), time.monotonic()
    try:
        soak.run()
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return 130
    tell(soak, time.monotonic() - begun)
    if not arguments.folder and not soak.flaws:
        shutil.rmtree(folder)
    return 1 if soak.flaws else 0


def tell(soak: Soak, seconds: float) -> None:
    facts = {
        "faults in all": sum(soak.story.faults.values()),
        "starts of main.py": soak.starts,
        **dict(soak.ends.most_common()),
        "harvests compared": soak.rounds,
        "minutes": round(seconds / 60, 1),
    }
    print(soak.story.table(facts))
    if soak.flaws:
        plan = soak.plan
        again = f"--seed {plan.seed} --scale {plan.scale:g} --processes {plan.processes}"
        print(f"FAILED with {again}; everything is in {soak.folder}")
        print("\n".join(f"  {each}" for each in soak.flaws[:SHOWN]))
    else:
        print("PASSED: every disturbed harvest ended as the undisturbed one did")


def plan_of(arguments: argparse.Namespace) -> Plan:
    scale = arguments.scale or (KILLS_SCALE if arguments.kills else 10.0)
    seed = Random().randrange(1_000_000) if arguments.seed is None else arguments.seed
    seconds = 60 * (arguments.minutes + 60 * arguments.hours)
    if not seconds and not arguments.kills:
        seconds = 300.0
    is_large = scale >= LARGE
    return Plan(
        scale=scale,
        seed=seed,
        seconds=seconds,
        kills=arguments.kills,
        processes=arguments.processes,
        ground="concepts" if is_large else "both",
        kinds=("images",) if is_large else KINDS,
    )


def parser() -> argparse.ArgumentParser:
    result = argparse.ArgumentParser(
        prog="python -m tests.soak",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = result.add_argument
    add("--minutes", type=float, default=0.0, metavar="M", help="how long (5)")
    add("--hours", type=float, default=0.0, metavar="H", help="how long, added to the minutes")
    add("--kills", type=int, default=0, metavar="N", help="so many kills instead")
    add("--processes", type=int, default=2, metavar="N", help="that get media (2; 0: threads)")
    add("--seed", type=int, metavar="N", help="of the random generator (any)")
    add("--scale", type=float, metavar="X", help="times the sample (10; 0.05 with --kills)")
    add("--folder", type=Path, metavar="DIR", help="where everything lies, and is kept (temporary)")
    return result


if __name__ == "__main__":
    sys.exit(main())
