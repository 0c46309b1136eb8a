"""What the page asks of a harvest: the same that other processes ask, in the same ways."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Literal

from ..assist.inbox import request_pause, retry
from ..engine.harvest import Request
from ..errors import UsageError
from ..journal.instance import ask_running
from ..journal.pauses import slots_in
from . import graph_data
from .site import Site

Said = Mapping[str, str]
"""The fields of a form."""


def pause(site: Site, said: Said) -> str:
    return _ask(site, "pause", said)


def resume(site: Site, said: Said) -> str:
    return _ask(site, "resume", said)


def stop(site: Site, said: Said) -> str:
    pid = ask_running(site.state, "stop")
    return f"asked process {pid} to stop: running tasks finish, nothing is lost"


def retry_failed(site: Site, said: Said) -> str:
    """Those of a reason, or all."""
    group = said.get("reason", "")
    heads = site.failures().heads.get(group) if group else None
    if group and heads is None:
        raise UsageError("nothing failed for this reason any more")
    number = retry(site.file, site.job.stages(site.sources.settings), heads=heads)
    if number is None:
        return "the harvest that runs puts them back to work in a moment"
    return f"{number:,} go back to work: start the harvest to go on"


def _ask(site: Site, verb: Literal["pause", "resume"], said: Said) -> str:
    """The whole harvest, a stage of it, or one worker."""
    stage, number = said.get("stage", ""), said.get("number", "")
    if not stage:
        return f"asked process {ask_running(site.state, verb)} to {verb}"
    view = site.view()
    if view.running is None:
        raise UsageError(f"no harvest runs in {site.state}")
    slots = slots_in(view.seen.facts)
    if stage not in slots:
        raise UsageError("there is no such stage")
    worker = {str(each): each for each in range(1, slots[stage] + 1)}.get(number)
    if number and worker is None:
        raise UsageError(f"{stage} has no such worker")
    request_pause(site.state, view.running, Request(verb, stage, worker))
    return f"asked {stage} {worker or ''}".strip() + f" to {verb}"


def judge(site: Site, said: Said) -> str:
    """A file, good or bad."""
    return graph_data.judge_file(site.explorer, said)


def count(site: Site, said: Said) -> str:
    site.explorer.count()
    return "counting: the figures are on this page when it is done"


ACTIONS: Mapping[str, Callable[[Site, Said], str]] = {
    "pause": pause,
    "resume": resume,
    "stop": stop,
    "retry": retry_failed,
    "judge": judge,
    "count": count,
}
