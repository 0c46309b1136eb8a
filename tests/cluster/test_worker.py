"""One process of a harvest and the harvest, each with a stranger at the other end of its link."""

from __future__ import annotations

import socket
from collections.abc import Callable
from contextlib import closing, suppress
from queue import SimpleQueue
from threading import Event, Thread

import pytest

from tests.cluster.test_executor import COMMAND
from tools.cluster import crew
from tools.cluster.link import GONE, Broken, Link
from tools.cluster.member import Member
from tools.cluster.messages import FORMAT, Back, Beat, Hello, Message, Permit, Ready
from tools.cluster.wire import Malformed, decoded, encoded


def hello(_number: int) -> Hello:
    return Hello(FORMAT, "words", {"fetch": 1}, {}, 30)


def test_a_permit_that_nobody_waits_for_is_given_back() -> None:
    """Else the host's place would be taken until the process ends."""
    said: SimpleQueue[Message] = SimpleQueue()
    member = Member(0, lambda _member, message: said.put(message), lambda _member, _why: None)
    member.start(COMMAND, hello(0))
    try:
        member.send(Permit(99, 0.0, 60.0))
        while not isinstance(message := said.get(timeout=20), Back):
            pass
        assert message == Back(99, 0)
    finally:
        member.end("the test is over")
        member.join(10)


def member_with(heard: Callable[[Member, Message], None]) -> Member:
    return Member(0, heard, lambda _member, _why: None)


def test_who_begins_twice_says_what_is_no_message() -> None:
    member = member_with(lambda _member, _message: None)
    member._take(Ready(FORMAT, 1))
    with pytest.raises(Malformed, match="twice"):
        member._take(Ready(FORMAT, 1))


def test_who_is_not_heard_because_we_are_slow_is_not_silent(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A disk that stands still, or a terminal: what was said waits for us."""
    at_it, go_on = Event(), Event()

    def slowly(_member: Member, _message: Message) -> None:
        at_it.set()
        go_on.wait(20)

    ours, theirs = socket.socketpair()
    member = member_with(slowly)
    member._link, member.is_ready = Link(ours), True
    ended: list[str] = []
    monkeypatch.setattr(member, "end", ended.append)
    monkeypatch.setattr(member, "look", lambda _most: None)
    monkeypatch.setattr(member, "_reaped", str)
    reader = Thread(target=member._read, daemon=True)
    reader.start()
    Link(theirs).send(encoded(Beat(None)))
    assert at_it.wait(10)
    crowd = crew.Crew(
        1, [], lambda _number: Hello(1, "", {}, {}, 0), slowly, lambda *_: None, Event()
    )
    crowd.fates[0].member = member
    for _ in range(crew.SILENT_LOOKS + 2):
        crowd._look()
    assert ended == []
    go_on.set()
    theirs.close()
    reader.join(10)
    ours.close()


def test_who_sees_to_processes_goes_on_after_a_bug(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    tended = Event()

    def tend(_self: crew.Crew) -> None:
        if caplog.records:
            tended.set()
            return
        raise ValueError("a bug")

    monkeypatch.setattr(crew.Crew, "_tend", tend)
    nobody = lambda *_: None  # noqa: E731
    crowd = crew.Crew(0, [], hello, nobody, nobody, Event())
    crowd.start()
    assert tended.wait(10)
    crowd.close()


def test_what_was_said_before_an_end_is_heard_though_something_is_unsent() -> None:
    ours, theirs = socket.socketpair()
    link = Link(ours)
    with suppress(Broken):
        while len(link._unsent) < 1_000_000:  # it takes nothing
            link.send(b"x" * 100_000)
    Link(theirs).send(encoded(Beat(None)))
    theirs.close()
    with closing(link):
        assert [decoded(each) for each in link.receive(1)] == [Beat(None)]
        with pytest.raises(Broken, match=GONE):
            for _ in range(10):
                link.receive(0.1)
