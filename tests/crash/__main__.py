"""python -m tests.crash: many kills of workers and of their harvest in one go; what came of it."""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path
from random import Random

from tests.crash.harm import Harm, SlowMedia
from tests.soak.compare import essence
from tests.soak.world import lines
from tests.support.node import SshdNode
from tests.support.worlds.conceptnet import World


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.crash", description=__doc__)
    add = parser.add_argument
    add("--kills", type=int, default=60, metavar="N", help="how many (60)")
    add("--processes", type=int, default=4, metavar="N", help="that get media (4)")
    add("--scale", type=float, default=0.15, metavar="X", help="times the sample (0.15)")
    add("--seed", type=int, default=Random().randrange(1_000_000), metavar="N", help="(any)")
    arguments = parser.parse_args()
    print(f"seed {arguments.seed}", flush=True)
    with tempfile.TemporaryDirectory(prefix="sheaf-crash-") as folder:
        harmed(Path(folder), arguments)


def harmed(folder: Path, arguments: argparse.Namespace) -> None:
    (folder / "node").mkdir()
    node = SshdNode(folder / "node")
    with World(lines(arguments.scale), latency=0.01) as world, SlowMedia() as media, node:
        harm = Harm(folder, world, media, node, arguments.processes)
        begun = time.monotonic()
        quiet = harm.quietly()
        total, between = len(essence(quiet).finished), time.monotonic()
        print(f"undisturbed: {total} finished in {between - begun:.1f} s", flush=True)
        harm.through(arguments.kills, total, Random(arguments.seed))
        files = harm.assert_as(quiet)
    took = time.monotonic() - between
    for name, count in harm.done.most_common():
        print(f"  {name:<20}{count:>5}")
    print(f"{harm.done.total()} in {harm.runs} runs and {took:.1f} s; {harm.hit} tasks were hit")
    print(f"PASSED: the same {total} tasks and {files} files, here and on the node")


if __name__ == "__main__":
    main()
