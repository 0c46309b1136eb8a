"""What a process brings is looked at before anything of it is kept."""

from __future__ import annotations

from typing import Any

import pytest

from tools.add import Media
from tools.cluster.cargo import result_of
from tools.cluster.messages import Result
from tools.cluster.wire import table_of_done
from tools.engine.stage import Done, Found, Stage, Task
from tools.errors import HarvestError, Interrupted, RetryLater
from tools.jobs.conceptnet_processes import _is_of

KNOWN = {"finished", "fetch", "to_fetch"}
STAGE = Stage("fetch", 1)


class Kept:
    """What was to be kept."""

    def __init__(self) -> None:
        self.brought: list[object] = []

    def outgoing(self, task: Task) -> Any:
        return None

    def incoming(self, task: Task, result: Done | HarvestError, cargo: Any) -> object:
        self.brought.append(result)
        return "records"

    def lost(self, task: Task) -> None: ...


def task() -> Task:
    return Task(1, "/c/en/dog", STAGE, None, 0, 0, token=7)


def brought(done: Done) -> Result:
    return Result(7, "fetch", "a", table_of_done(done), None, None, None)


def test_what_leads_on_is_kept_with_its_records() -> None:
    kept = Kept()
    done = result_of(task(), brought(Done("finished", [Found("fetch", ["a"])])), kept, KNOWN)
    assert isinstance(done, Done) and done.records == "records" and len(kept.brought) == 1


@pytest.mark.parametrize(
    "done",
    [
        Done("nowhere"),
        Done("finished", [Found("nobody", ["a"])]),
        Done("finished", [Found("fetch", ["a"], again="nobody")]),
    ],
)
def test_what_leads_nowhere_is_kept_by_nobody(done: Done) -> None:
    kept = Kept()
    assert isinstance(result_of(task(), brought(done), kept, KNOWN), RetryLater)
    assert kept.brought == []


@pytest.mark.parametrize("field", [("uris", "abc"), ("uris", {}), ("notes", ["x"])])
def test_what_was_found_is_a_list_with_a_note_for_each_or_none(field: tuple[str, object]) -> None:
    names = ["stage", "uris", "priority", "depth", "notes", "again"]
    message = brought(Done("finished", [Found("fetch", ["a", "b"])]))
    assert message.done is not None
    message.done["found"][0][names.index(field[0])] = field[1]
    kept = Kept()
    assert isinstance(result_of(task(), message, kept, KNOWN), RetryLater)
    assert kept.brought == []


def test_of_a_task_that_was_taken_back_nothing_is_kept() -> None:
    late, kept = task(), Kept()
    late.seconds = 5.0
    assert isinstance(result_of(late, brought(Done("finished")), kept, KNOWN), Interrupted)
    assert kept.brought == []


@pytest.mark.parametrize(
    ("path", "kind", "is_its_own"),
    [
        ("en/dog/image/0.jpg", "image", True),
        ("en/dog/audio/0.jpg", "image", False),
        ("en/dog/../image/0.jpg", "image", False),
        ("en/dog/image/..", "image", False),
        ("en/cat/image/0.jpg", "image", False),
        ("/en/dog/image/0.jpg", "image", False),
        ("en/dog/strange/0.jpg", "strange", False),
        ("", "image", False),
    ],
)
def test_a_file_lies_in_the_folder_of_its_owner(path: str, kind: str, is_its_own: bool) -> None:
    media = Media(path, kind, "image/jpeg", "0" * 64, 1, 1, 1, None, *[None] * 6)
    assert _is_of("/c/en/dog", media) is is_its_own
