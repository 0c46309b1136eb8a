"""What a running harvest is asked to do by other processes: put failed URIs back to work, ship, let
some of its workers make a pause.

A wish is a file in the state folder. Whoever holds the folder takes it; one that came too late is
taken by the next start.
"""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from contextlib import closing, suppress
from pathlib import Path
from typing import Literal

from ..base.files import write_whole
from ..engine.harvest import Request
from ..engine.pools import Pools
from ..engine.stage import Stage
from ..errors import AlreadyRunning
from ..journal.holder import Running, running
from ..journal.instance import only_instance

FOLDER = "wishes"
HEADS = "retry-of"
NodeVerb = Literal["drain", "forget"]


def request_retry(state: Path, reason: str) -> None:
    _leave(state, "retry", reason)


def request_retry_of(state: Path, heads: Sequence[str]) -> None:
    """Of those whose reasons begin so (see `journal.reasons`)."""
    _leave(state, HEADS, json.dumps(heads))


def request_shipping(state: Path, batch: str | None) -> None:
    _leave(state, "ship", batch or "")


def request_pause(state: Path, asked: Running, request: Request) -> None:
    """Only the process that is asked obeys: a pause is not for whoever starts next."""
    _leave(state, "pause", json.dumps([asked, request]))


def take_pause_requests(state: Path) -> list[Request]:
    """Those that were meant for us."""
    wishes = _wishes(state, "pause")
    ours = running(state) if wishes else None
    found: list[Request] = []
    for wish in wishes:
        with suppress(ValueError, TypeError):  # written by nobody we know
            asked, request = json.loads(wish.read_bytes())
            if Running(*asked) == ours:
                found.append(Request(*request))
        wish.unlink(missing_ok=True)
    return found


def take_retry_requests(state: Path, pools: Pools) -> int:
    """Do what was asked for, then forget it; how many URIs go back to work."""
    revived = 0
    for wish in _wishes(state, "retry"):
        revived += pools.revive(wish.read_text(encoding="utf-8"))
        wish.unlink(missing_ok=True)
    for wish in _wishes(state, HEADS):
        with suppress(ValueError):  # written by nobody we know
            heads = json.loads(wish.read_bytes())
            if isinstance(heads, list):
                revived += pools.revive(heads=list(map(str, heads)))
        wish.unlink(missing_ok=True)
    return revived


def is_retry_requested(state: Path) -> bool:
    return bool(_wishes(state, "retry") or _wishes(state, HEADS))


def retry(
    file: Path, stages: Sequence[Stage], reason: str = "", heads: Sequence[str] | None = None
) -> int | None:
    """What failed for a reason that holds this text, or begins so, waits again, and how many that
    are; None if a harvest runs, which is asked to do it."""
    try:
        with only_instance(file.parent), closing(Pools(file, stages)) as pools:
            return pools.revive(reason, heads=heads)
    except AlreadyRunning:
        if heads is None:
            request_retry(file.parent, reason)
        else:
            request_retry_of(file.parent, heads)
        return None


def request_of_nodes(state: Path, verb: NodeVerb, node: str) -> None:
    _leave(state, "node", json.dumps([verb, node]))


def take_node_requests(state: Path) -> list[tuple[NodeVerb, str]]:
    found: list[tuple[NodeVerb, str]] = []
    for wish in _wishes(state, "node"):
        with suppress(ValueError, TypeError):  # written by nobody we know
            verb, node = json.loads(wish.read_bytes())
            if verb in ("drain", "forget"):
                found.append((verb, str(node)))
        wish.unlink(missing_ok=True)
    return found


def is_shipping_requested(state: Path) -> bool:
    return bool(_wishes(state, "ship"))


def take_shipping_requests(state: Path) -> list[str]:
    """The batches that were asked for by name; whoever takes them ships them, and all the rest."""
    found: list[str] = []
    for wish in _wishes(state, "ship"):
        found.append(wish.read_text(encoding="utf-8"))
        wish.unlink(missing_ok=True)
    return [each for each in found if each]


def _leave(state: Path, kind: str, text: str) -> None:
    folder = state / FOLDER
    folder.mkdir(exist_ok=True)
    wish = folder / f"{time.time_ns()}.{kind}"
    write_whole(wish, text.encode(), durable=False)


def _wishes(state: Path, kind: str) -> list[Path]:
    return sorted((state / FOLDER).glob(f"*.{kind}"))
