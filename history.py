"""How far the harvest is. Reads the state; never changes it, never makes the harvest wait."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path

from tools.add import Counts
from tools.errors import HarvestError, Unavailable, Unreachable, UsageError
from tools.graphs import look as look_at_graph
from tools.look import Look, look
from tools.progress import table
from tools.settings import Settings, add_place_flags, load_places

BAR = 40


def main(argv: Sequence[str] | None = None) -> int:
    arguments = parser().parse_args(argv)
    try:
        settings = load_places(arguments)
        file = arguments.file or settings.pools_file
        if not file.exists():
            raise UsageError(f"there is no harvest at {file} yet: python main.py starts one")
        seen = look(file)
        graph = graph_counts(settings)
    except HarvestError as error:
        print(f"history: {error}", file=sys.stderr)
        return error.exit_code
    print(as_json(seen, graph) if arguments.json else as_text(file, seen, graph))
    return 0


def graph_counts(settings: Settings) -> Counts | None:
    """None if there is no graph yet, or none that answers."""
    try:
        return look_at_graph(settings.graph_url, settings.neo4j.password)
    except (Unreachable, Unavailable) as error:
        print(f"history: {error}", file=sys.stderr)
        return None


def as_json(seen: Look, graph: Counts | None) -> str:
    return json.dumps(
        {
            "pools": seen.pools,
            "graph": graph._asdict() if graph else None,
            "done": seen.done,
            "failures": seen.failures,
            "harvest": seen.facts,
        },
        ensure_ascii=False,
    )


def as_text(file: Path, seen: Look, graph: Counts | None) -> str:
    known = sum(seen.pools.values())
    ended = seen.pools.get("finished", 0) + seen.pools.get("failed", 0)
    share = ended / known if known else 0.0
    lines = [f"{file}: {seen.facts.get('world', 'a harvest')}"]
    lines.append(f"[{'#' * round(BAR * share):<{BAR}}] {share:.0%} of {known:,} known are done")
    lines += ["Pools", table(seen.pools.items())]
    if graph is not None:
        lines += ["Graph", table(graph._asdict().items())]
    if seen.failures:
        lines += ["Failures by reason", table(seen.failures.items())]
    return "\n".join(lines)


def parser() -> argparse.ArgumentParser:
    result = argparse.ArgumentParser(prog="history.py", description=__doc__)
    result.add_argument(
        "file", nargs="?", type=Path, help="a snapshot instead of the running state"
    )
    result.add_argument("--json", action="store_true", help="for programs")
    add_place_flags(result)
    return result


if __name__ == "__main__":
    sys.exit(main())
