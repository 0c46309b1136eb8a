"""python -m bench [WHAT] [--quick]"""

from __future__ import annotations

import argparse
import signal
import sys
from collections.abc import Sequence

from bench import (
    cluster,
    dump,
    explore,
    explore_neo4j,
    fetch,
    fields,
    graph,
    history,
    layers,
    media,
    mirror,
    neo4j,
    pages,
    pools,
    scale,
    shards,
    shipping,
    structure,
    tables,
    web,
)
from bench.report import Row, say, surroundings, table, write_results

BENCHES = {
    "cluster": cluster.measure,
    "dump": dump.measure,
    "explore": explore.measure,
    "explore-neo4j": explore_neo4j.measure,
    "fetch": fetch.measure,
    "fields": fields.measure,
    "pools": pools.measure,
    "graph": graph.measure,
    "history": history.measure,
    "layers": layers.measure,
    "neo4j": neo4j.measure,
    "media": media.measure,
    "mirror": mirror.measure,
    "scale": scale.measure,
    "shards": shards.measure,
    "shipping": shipping.measure,
    "pages": pages.measure,
    "structure": structure.measure,
    "tables": tables.measure,
    "web": web.measure,
}


def main(argv: Sequence[str] | None = None) -> int:
    arguments = parser().parse_args(argv)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that everything started ends too
    names = list(BENCHES) if arguments.what == "all" else [arguments.what]
    rows = {name: run(name, arguments.quick) for name in names}
    shown = {name: table(each) for name, each in rows.items()}
    print(surroundings(arguments.quick))
    for name, text in shown.items():
        print(f"\n{name}{' (QUICK: a tenth of the sizes)' if arguments.quick else ''}\n{text}")
    if arguments.write:
        write_results(shown, arguments.quick)
    return 0 if all(row.is_met() for each in rows.values() for row in each) else 1


def run(name: str, quick: bool) -> list[Row]:
    rows = []
    for row in BENCHES[name](0.1 if quick else 1.0, say):
        say("  " + "  ".join(cell for cell in row.cells() if cell))
        rows.append(row)
    return rows


def parser() -> argparse.ArgumentParser:
    result = argparse.ArgumentParser(
        prog="python -m bench",
        description="Measures the harvest beside its peers; ends with 1 if a bar is missed.",
    )
    result.add_argument("what", nargs="?", default="all", choices=[*BENCHES, "all"])
    result.add_argument("--quick", action="store_true", help="a tenth of the sizes")
    result.add_argument("--write", action="store_true", help="rewrite bench/RESULTS.md")
    return result


if __name__ == "__main__":
    sys.exit(main())
