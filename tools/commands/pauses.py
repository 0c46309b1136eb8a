"""`python main.py pause`, `resume`: asks the harvest that runs, a stage of it, or one worker."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from pathlib import Path
from typing import Literal

from ..errors import UsageError
from . import flags

EXAMPLES = (
    "python main.py pause                 the harvest of sheaf.toml, or of ./state",
    "python main.py pause fetch           one of its stages",
    "python main.py resume fetch 3        one worker of a stage",
    "python main.py pause download 3 --job pages",
)


class Options(flags.Options):
    verb: Literal["pause", "resume"]
    stage: str | None
    number: int | None


def arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("stage", nargs="?", metavar="STAGE", help="only this stage, such as fetch")
    add("number", nargs="?", type=flags.whole, metavar="N", help="only this worker of it, from 1")
    flags.add_home(parser)


def run(options: Options) -> int:
    settings = flags.load(options)
    if options.stage is None:
        from ..journal.instance import ask_running

        pid = ask_running(settings.state, options.verb)
    else:
        pid = _ask_some(settings.state, settings.pools_file, options)
    words = [options.verb, options.stage or "", str(options.number or "")]
    text = " ".join(word for word in words if word)
    print(f"asked the harvest in {settings.state} (process {pid}) to {text}")
    return 0


def _ask_some(state: Path, file: Path, options: Options) -> int:
    from ..assist.inbox import request_pause
    from ..engine.harvest import Request
    from ..journal.holder import running
    from ..journal.pauses import slots_in
    from ..journal.reader import facts_in

    if (holder := running(state)) is None:
        raise UsageError(f"no harvest runs in {state}")
    slots = slots_in(facts_in(file)) if file.exists() else {}
    if not slots:
        raise UsageError(f"the harvest in {state} has only begun: try again in a moment")
    _require_known(slots, options.stage or "", options.number)
    request_pause(state, holder, Request(options.verb, options.stage, options.number))
    return holder.pid


def _require_known(slots: Mapping[str, int], stage: str, number: int | None) -> None:
    if stage not in slots:
        raise UsageError(f"there is no stage {stage!r}, but {' and '.join(slots)}")
    if number is not None and not 1 <= number <= slots[stage]:
        which = f"the workers 1 to {slots[stage]}" if slots[stage] > 1 else "one worker, 1"
        raise UsageError(f"{stage} has {which}, and no {number}")
