"""Messages as bytes: what is said is what is heard, and what is none is refused."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from random import Random

import orjson
import pytest

from tests.support.chance import any_seed
from tools import errors
from tools.base.why import Why
from tools.cluster.link import MOST_UNSENT, Broken, Link
from tools.cluster.messages import KINDS, Beat, Hello, Message, Permit, Result, Said, Stop, Work
from tools.cluster.wire import (
    ERRORS,
    HINTS,
    LARGEST,
    LONGEST_TEXT,
    Malformed,
    decoded,
    done_of,
    encoded,
    error_of,
    table_of_done,
    table_of_error,
    task_of,
    work_of,
)
from tools.engine.stage import Done, Found, Stage, Task
from tools.network.trouble import NoAnswer

DONE = Done(
    "finished",
    [Found("fetch", ["a", "b"], 2, 3, ["x", None], "fetch")],
    tally={"seen": 1},
    facts={"a": "b"},
)
MESSAGES: list[Message] = [
    Hello(1, "words", {"fetch": 3}, {"a": [1, {"b": None}]}, 30),
    Work(5 << 40, "fetch", 1, "/c/en/dog", None, 0, 2, True, 0, None, "h", {"media": [["x", 1]]}),
    Stop(),
    Permit(3, 0.5, 17.25),
    Result(7, "fetch", "a", table_of_done(DONE), None, None, {"requests": 1}),
    Result(
        7, "fetch", "a", None, table_of_error(errors.RetryLater("later", 7.5)), {"draft": {}}, None
    ),
    Beat(None),
    Said(30, "tools.extend", "no \u20ac, \0 and \U0001f600"),
]
RUBBISH: list[object] = [
    None,
    True,
    -1,
    2**63,
    1.5,
    "x",
    "y" * (LONGEST_TEXT + 1),
    [],
    {},
    [[]],
    {"a": {}},
]


@pytest.mark.parametrize("message", MESSAGES, ids=lambda each: type(each).__name__)
def test_what_is_said_is_heard(message: Message) -> None:
    assert decoded(encoded(message)) == message


def test_a_task_travels_whole() -> None:
    stage = Stage("fetch", 3)
    task = Task(4, "/c/en/dog", stage, 2, 3, 1, True, 5 << 40, priority=6, note="n", lane="l")
    assert task_of(work_of(task, None), stage) == task
    assert task_of(work_of(task, None), stage).is_hurried


def test_what_was_found_travels_whole() -> None:
    assert done_of(table_of_done(DONE), "records") == Done(
        DONE.to, DONE.found, "records", DONE.tally, None, DONE.facts
    )


@pytest.mark.parametrize("name", sorted(ERRORS))
def test_every_error_stays_what_it_is(name: str) -> None:
    kind = ERRORS[name]
    error = kind.__new__(kind)
    Exception.__init__(error, "because")
    vars(error).update(delay=1.5, status=404)
    back = error_of(orjson.loads(orjson.dumps(table_of_error(error))))
    assert type(back) is kind and str(back) == "because" and vars(back) == vars(error)


def test_an_error_that_others_do_not_know_is_the_nearest_that_they_do() -> None:
    back = error_of(table_of_error(NoAnswer("nobody there", Why.PROXY)))
    assert type(back) in ERRORS.values() and isinstance(NoAnswer("", Why.PROXY), type(back))


@pytest.mark.parametrize(
    "content",
    [b"", b"x", b"[]", b"{}", b"7", b'["Stop", 1]', b'["Nobody"]', b'[["Stop"]]', b'[{"a":1}]'],
)
def test_what_is_no_message_is_refused(content: bytes) -> None:
    with pytest.raises(Malformed):
        decoded(content)


@pytest.mark.parametrize(
    "fields",
    [
        ["Permit", "3", 0.5, 17.0],
        ["Permit", True, 0.5, 17.0],
        ["Permit", 3.5, 0.5, 17.0],
        ["Permit", 2**63, 0.5, 17.0],
        ["Permit", 3, 0.5, None],
        ["Permit", 3],
        ["Said", 30, "x", "y" * (LONGEST_TEXT + 1)],
        ["Beat", 1, []],
        ["Hello", 1, "words", None, {}, 30],
    ],
)
def test_a_field_of_another_kind_is_refused(fields: list[object]) -> None:
    with pytest.raises(Malformed):
        decoded(orjson.dumps(fields))


def test_any_rubbish_in_any_field_is_a_message_or_refused() -> None:
    for name, hints in HINTS.items():
        for wrong in range(len(hints)):
            for value in RUBBISH:
                fields: list[object] = [1] * len(hints)
                fields[wrong] = value
                _is_message_or_refused(orjson.dumps([name, *fields]))


def test_ten_thousand_damaged_messages_are_messages_or_refused() -> None:
    chance = Random(any_seed())
    whole = [encoded(message) for message in MESSAGES]
    for _ in range(10_000):
        content = bytearray(chance.choice(whole))
        for _ in range(chance.randrange(1, 4)):
            content[chance.randrange(len(content))] = chance.randrange(256)
        _is_message_or_refused(bytes(content))


def _is_message_or_refused(content: bytes) -> None:
    try:
        message = decoded(content)
        assert type(message) in KINDS.values()
        if isinstance(message, Result):
            for table, read in ((message.done, done_of), (message.error, error_of)):
                if table is not None:
                    read(table)
    except Malformed:
        pass


def test_what_is_too_long_is_not_said() -> None:
    with pytest.raises(Malformed):
        encoded(Said(1, "x", "y" * LARGEST))


# --- the link ----------------------------------------------------------------------------------


@pytest.fixture
def ends() -> Iterator[tuple[Link, socket.socket]]:
    ours, theirs = socket.socketpair()
    link = Link(ours)
    yield link, theirs
    link.close()
    theirs.close()


def test_messages_come_whole_however_they_arrive(ends: tuple[Link, socket.socket]) -> None:
    link, other = ends
    content = b"".join(len(each).to_bytes(4, "big") + each for each in (b"one", b"", b"three"))
    came: list[bytes] = []
    for byte in content:
        other.send(bytes([byte]))
        came += link.receive(1.0)
    assert came == [b"one", b"", b"three"] and link.receive(0.01) == []


def test_a_length_that_cannot_be_breaks_the_link(ends: tuple[Link, socket.socket]) -> None:
    link, other = ends
    other.send((LARGEST + 1).to_bytes(4, "big"))
    with pytest.raises(Broken):
        link.receive(1.0)


def test_who_is_gone_breaks_the_link(ends: tuple[Link, socket.socket]) -> None:
    link, other = ends
    other.close()
    with pytest.raises(Broken):
        link.receive(1.0)


def test_sending_never_waits_and_what_is_not_taken_is_bounded() -> None:
    ours, theirs = map(Link, socket.socketpair())
    large = b"x" * LARGEST
    ours.send(large)
    came: list[bytes] = []
    while not came:
        ours.receive(0.01)  # flushes
        came = theirs.receive(0.01)
    assert came == [large]
    with pytest.raises(Broken):
        for _ in range(2 + MOST_UNSENT // LARGEST):
            ours.send(large)
    ours.close()
    theirs.close()
