"""Media of the job `conceptnet` in processes of their own: what goes along, what comes home.

Run as a program it is such a process.
"""

from __future__ import annotations

import sys

from ..base.parent import belong_to

if __name__ == "__main__":  # what follows takes a while: nobody is to be left behind meanwhile
    belong_to(int(sys.argv[2]))

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import PurePosixPath
from threading import Event
from typing import TYPE_CHECKING, Any

from ..add import KINDS, Attachment, Media
from ..base.config import build, table_of
from ..base.program import module_command
from ..cluster.executor import Away, ProcessExecutor
from ..cluster.grants import Granting
from ..cluster.limits import SharedLimits
from ..cluster.messages import Hello
from ..cluster.post import Post
from ..cluster.worker import Staff, serve
from ..engine.stage import Done, Task
from ..errors import HarvestError
from ..extend import attachment
from ..media.carried import CarriedDrafts
from ..media.drafts import Draft, Drafts, draft_of
from ..network.client import Client
from ..network.limits import Limits, merged
from ..providers import catalogue
from ..settings import Settings
from ..uri import media_folder
from .conceptnet_asking import client_of, extender_of

if TYPE_CHECKING:
    from .conceptnet import ConceptnetJob

NEEDED = ("source", "media", "state", "attempts", "fetch_workers", "extend_workers")
SECTIONS = ("extend", "http", "proxy")


# --- where the harvest is ------------------------------------------------------------------------


def executor_of(
    job: ConceptnetJob,
    settings: Settings,
    drafts: Drafts,
    stop: Event,
    command: Sequence[str] = (),
) -> ProcessExecutor:
    """`command` is the program of such a process, if it is not this one."""
    away = Away(
        {"extend": DraftCargo(drafts)},
        settings.worker_processes,
        command or module_command(".jobs.conceptnet_processes"),
        job.description.name,
        process_setup(settings),
        granting(job.client),
        job.client.traffic,
        settings.process_memory,
    )
    return ProcessExecutor(job.stages, job.workers, away, stop)


def granting(client: Client) -> Granting:
    """The limits that its client keeps, or asks for elsewhere."""
    limits = client.limits
    if not isinstance(limits, Limits | SharedLimits):
        raise TypeError(f"{limits!r} grants nobody a turn")
    return limits


class DraftCargo:
    """Drafts stay here; a task takes its own along and brings it home with what was added."""

    def __init__(self, drafts: Drafts) -> None:
        self._drafts = drafts

    def outgoing(self, task: Task) -> Any:
        return self._drafts.lend(task.uri)

    def incoming(self, task: Task, result: Done | HarvestError, cargo: Any) -> object:
        if cargo is None and not isinstance(result, Done):
            return None  # it was never begun
        draft = _checked(task.uri, cargo)
        if not isinstance(result, Done):
            self._drafts.save(draft)
            return None
        self._drafts.deliver(draft)
        return attachment(draft, cargo["text"], cargo["time"])

    def lost(self, task: Task) -> None:
        self._drafts.tidy(task.uri)


def _checked(owner: str, cargo: Any) -> Draft:
    """Of this owner, with files in its own folder."""
    try:
        draft = draft_of(cargo["draft"])
        texts = [cargo[key] for key in ("text", "time")]
        are_its_own = all(_is_of(owner, each) for each in draft.media)
    except (TypeError, KeyError, AttributeError):
        raise ValueError("what was found is no draft") from None
    if draft.owner != owner or not are_its_own:
        raise ValueError("what was found is of somebody else")
    if not all(isinstance(text, str) for text in texts):
        raise ValueError("what was found is no draft")
    return draft


def _is_of(owner: str, media: Media) -> bool:
    place = PurePosixPath(media.path)
    folder = f"{media_folder(owner)}/{media.kind}"
    return media.kind in KINDS and str(place.parent) == folder and place.name != ".."


def process_setup(settings: Settings) -> dict[str, Any]:
    """All that such a process needs. It is ours: it may know what we may."""
    table = table_of(settings)
    return {
        "settings": {name: table[name] for name in (*NEEDED, *SECTIONS)},
        "keys": dict(settings.extend.keys),
        "proxies": list(settings.proxy.urls),
    }


# --- such a process ------------------------------------------------------------------------------


def settings_in(setup: Mapping[str, Any]) -> Settings:
    settings = build(Settings(), setup["settings"])
    return replace(
        settings,
        extend=replace(settings.extend, keys=setup["keys"]),
        proxy=replace(settings.proxy, urls=tuple(setup["proxies"])),
    )


class DraftCarrier:
    def __init__(self, drafts: CarriedDrafts) -> None:
        self._drafts = drafts

    def arrived(self, uri: str, cargo: Any) -> None:
        self._drafts.bring(uri, cargo)

    def leaving(self, uri: str, result: Done | HarvestError) -> Any:
        table = self._drafts.taken(uri)
        if table is None:
            return None
        search: Mapping[str, Any] = {"text": "", "time": ""}
        if isinstance(result, Done) and isinstance(result.records, Attachment):
            search = result.records.search
        return {"draft": table, "text": search["text"], "time": search["time"]}


def hire(hello: Hello, post: Post, stop: Event) -> Staff:
    settings = settings_in(hello.setup)
    limited = merged(catalogue.limits(settings.extend), settings.http.limits)
    kept = SharedLimits(post, limited)
    client = client_of(settings, stop, kept=kept)
    drafts = CarriedDrafts(settings.media)
    extender = extender_of(settings, client, drafts, stop)
    carriers = {"extend": DraftCarrier(drafts)}
    return Staff({"extend": extender}, carriers, client.traffic, kept.rests)


if __name__ == "__main__":
    serve(int(sys.argv[1]), int(sys.argv[2]), hire)
