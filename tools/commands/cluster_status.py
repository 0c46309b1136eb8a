"""`python main.py cluster status`: which nodes have keys, which work, and which have files."""

from __future__ import annotations

import argparse
import json
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from ..base.text import ago, plain
from ..errors import StateDamaged
from . import flags

if TYPE_CHECKING:
    from ..journal.nodes import Node
    from ..settings import Settings

EXAMPLES = (
    "python main.py cluster status",
    "python main.py cluster status --json    for programs",
)
LAST_SEEN = "SELECT name, seen FROM node"
OWNERS = "SELECT node, count(*) FROM custody GROUP BY node"


class Options(flags.Options):
    json: bool


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="for programs")
    flags.add_home(parser)


def run(options: Options) -> int:
    settings = flags.load(options)
    rows = nodes_of(settings)
    if options.json:
        print(json.dumps(rows))
        return 0
    for name, row in rows.items():
        print(f"{plain(name):20} {_spoken(row)}")
    if not rows:
        print("no node has a key yet: python main.py cluster add NAME")
    return 0


def nodes_of(settings: Settings) -> dict[str, dict[str, Any]]:
    """All that ever were, by name."""
    from ..cluster.node_list import read_list

    with_key = read_list(settings.cluster.folder).names
    seen, owners, now = _in_state(settings)
    names = dict.fromkeys([*with_key, *seen, *owners, *now])
    return {
        name: {
            "has_key": name in with_key,
            "last_seen": seen.get(name),
            "owners": owners.get(name, 0),
            "now": now[name]._asdict() if name in now else None,
        }
        for name in names
    }


def _in_state(settings: Settings) -> tuple[dict[str, float], dict[str, int], dict[str, Node]]:
    from ..journal.holder import running
    from ..journal.nodes import nodes_in
    from ..journal.reader import facts_in, moment

    file = settings.pools_file
    if not file.exists():
        return {}, {}, {}
    with suppress(StateDamaged), moment(file) as db:
        seen, owners = dict(db.execute(LAST_SEEN)), dict(db.execute(OWNERS))
        held = running(settings.state)
        nodes = nodes_in(facts_in(file), held.pid if held else None)
        return seen, owners, {each.name: each for each in nodes}
    return {}, {}, {}


def _spoken(row: dict[str, Any]) -> str:
    parts = [] if row["has_key"] else ["its key is refused"]
    if (now := row["now"]) is not None and now["since"] is not None:
        parts.append(f"works: {now['at_work']} of {now['places']}, {now['per_minute']} a minute")
    elif row["last_seen"]:
        parts.append(f"last seen {ago(time.time() - row['last_seen'])}")
    else:
        parts.append("never seen")
    if now is not None and now["held"]:
        parts.append(f"held: {plain(now['held'])}")
    if row["owners"]:
        parts.append(f"alone has the files of {row['owners']:,}")
    return "; ".join(parts)
