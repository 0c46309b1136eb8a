"""`python main.py layers NAME --try URL`: what one page gives; nothing is stored."""

from __future__ import annotations

import json
from argparse import Namespace
from contextlib import ExitStack

from ..base.text import amount, did_you_mean, plain
from ..errors import GiveUp, HarvestError, StopHarvest, UsageError
from ..jobs.layers_asking import trial_of
from ..jobs.layers_task import task_in
from ..layers.request import Request, identity_of
from ..layers.task import Task
from ..layers.visit import Given
from ..settings import Settings
from .sample_world import in_sample_world

MOST = 20  # of a kind: the rest is counted
LONGEST = 2000  # characters of a row


def show_trial(settings: Settings, options: Namespace) -> int:
    task = task_in(settings)
    request = _request(task, options.trial, options.layer)
    with ExitStack() as stack:
        if options.sample:
            settings = in_sample_world("layers", settings, stack)
        trial = stack.enter_context(trial_of(settings, task, request.url))
        try:
            given, response = trial(request)
        except (UsageError, StopHarvest):
            raise
        except HarvestError as error:
            raise GiveUp(f"{request.url}: {error}") from error
    _show(task, request, response.status, given)
    return 0


def _request(task: Task, url: str, layer: str | None) -> Request:
    named = task.first_layer if layer is None else task.layer_named(layer)
    if named is None:
        near = did_you_mean(str(layer), [str(each) for each in task.layers])
        raise UsageError(f"{task.place} has no layer {layer!r}{near}")
    request = Request(named, "GET", url).on(task.base)
    if request is None:
        raise UsageError(f"{url!r} is not an address of the web")
    return request


def _show(task: Task, request: Request, status: int, given: Given) -> None:
    print(f"{plain(request.url)}  (layer {request.layer}): HTTP {status}")
    tables = dict.fromkeys(row.table for row in given.rows)
    for name in tables:
        rows = [row for row in given.rows if row.table == name]
        print(f"\n{plain(name)}: {amount(len(rows), 'row')}")
        for row in rows[:MOST]:
            print(f"  {_short(json.dumps(dict(row.values), ensure_ascii=False, default=str))}")
        _rest(len(rows))
    print(f"\nnext: {amount(len(given.next), 'request')}")
    for each in given.next[:MOST]:
        options = task.options(each.layer)
        carried = (
            json.dumps(dict(each.carried), ensure_ascii=False, default=str) if each.carried else ""
        )
        print(f"  {plain(identity_of(each, task.forget, options.with_referer))} {_short(carried)}")
    _rest(len(given.next))
    for reason, number in given.skipped.items():
        if number:
            print(f"skipped: {plain(reason)} ({number:,})")
    print("nothing was stored (--try)")


def _short(text: str) -> str:
    more = len(text) - LONGEST
    return plain(text[:LONGEST]) + (f" ... and {more:,} characters more" if more > 0 else "")


def _rest(number: int) -> None:
    if number > MOST:
        print(f"  ... and {number - MOST:,} more")
