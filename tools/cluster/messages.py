"""What the coordinator and those who work for it say to each other."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

FORMAT = 1
Table = dict[str, Any]


# --- to a node ---------------------------------------------------------------------------------


class Hello(NamedTuple):
    """The first word: what the node shall be."""

    format: int
    job: str
    places: Table  # by stage
    setup: Table  # only the job knows what it is
    log_level: int


class Work(NamedTuple):
    """A task, and what goes along with it."""

    token: int
    stage: str
    id: int
    uri: str
    rank: int | None
    depth: int
    attempts: int
    is_hurried: bool
    priority: int
    note: str | None
    lane: str | None
    cargo: Any


class Stop(NamedTuple):
    """Whoever waits for something gives up waiting."""


class Permit(NamedTuple):
    """The host may be asked, once, for so many seconds from when it was granted; whoever asked for
    it knows when that was: so long it was waited for. Clocks of several machines do not agree."""

    number: int
    waited_s: float
    good_s: float


class Refusal(NamedTuple):
    number: int
    error: Table


class Resting(NamedTuple):
    """Nobody asks this host for so many seconds."""

    host: str
    seconds: float
    reason: str
    ill_s: float  # so long it has not been well


class Rested(NamedTuple):
    """The answer to a Pause: how long it is."""

    number: int
    seconds: float


# --- from a node -------------------------------------------------------------------------------


class Ready(NamedTuple):
    format: int
    pid: int


class Result(NamedTuple):
    """What became of a task: done or an error, never both."""

    token: int
    stage: str
    uri: str
    done: Table | None
    error: Table | None
    cargo: Any
    traffic: Table | None


class Beat(NamedTuple):
    """It is alive."""

    traffic: Table | None


class Ask(NamedTuple):
    """May this host be asked?"""

    number: int
    host: str


class Again(NamedTuple):
    """A permit is no longer good: it came too late, or was used and one more is needed."""

    number: int
    permit: int
    is_used: bool


class Back(NamedTuple):
    """A permit is over; so many bytes came."""

    number: int
    size: int


class Pause(NamedTuple):
    """A host wants to be left alone, for so long or for a while that grows."""

    number: int
    host: str
    reason: str
    seconds: float | None
    first_s: float | None  # of those that grow


class Answered(NamedTuple):
    """A host that has rested is well. All are told so."""

    host: str


class Said(NamedTuple):
    """A line of the log."""

    level: int
    logger: str
    text: str


# --- between machines --------------------------------------------------------------------------


class Introduction(NamedTuple):
    """A node's first word: what it is. `session` is that of one process of it."""

    format: int
    version: str
    program: str  # the digest of its code
    session: str
    home: str  # its state folder, in which only one process works at a time
    keys: Table  # of providers it has, by name
    clock: float  # its wall clock


class Welcome(NamedTuple):
    """What is worked on. With the same harvest and setup as before a node just goes on."""

    session: str
    harvest: str
    job: str
    setup: Table  # only the job knows what it is; no secrets
    log_level: int


class Wait(NamedTuple):
    """Somebody else has this name now: ask again in a while."""

    session: str
    reason: str


class Refused(NamedTuple):
    session: str
    reason: str  # and what to do about it


class Offer(NamedTuple):
    """What a node would do: how many places by stage, and the hashes of code of its user's."""

    session: str
    places: Table
    codes: Table


class Agreed(NamedTuple):
    """What it shall do; by stage, why it shall not do others."""

    session: str
    places: Table
    refused: Table


class Pulse(NamedTuple):
    """A node is alive: the tokens it has in hand, and how it fares."""

    session: str
    tokens: list[Any]
    places: Table  # by stage, those that take tasks now
    sight: Table
    traffic: Table | None


class Unknown(NamedTuple):
    """The coordinator does not know this session: say who you are."""

    session: str


class Judged(NamedTuple):
    """What became of a result: settled, stale (drop what it brought) or again (not stored)."""

    token: int
    verdict: str


class Question(NamedTuple):
    """Something to be looked up where the harvest is; only the job knows what."""

    number: int
    what: str
    arguments: list[Any]


class Found(NamedTuple):
    """The answer to a Question."""

    number: int
    value: Any


class Hold(NamedTuple):
    """Take no tasks of this stage for so long: others of them get answers."""

    stage: str
    seconds: float
    reason: str


class Shipped(NamedTuple):
    """The files of these owners are safe where they are kept."""

    number: int
    owners: list[Any]


class Noted(NamedTuple):
    """The answer to a Shipped: it is written down."""

    number: int


class Finish(NamedTuple):
    """Nothing more comes: ship what is there, and say so by your pulse."""


class Drain(NamedTuple):
    """Take no more; leave when all that is in hand is done."""


class Goodbye(NamedTuple):
    """The harvest is over, or its coordinator goes: nothing more comes for now."""

    is_over: bool


Message = (
    Hello | Work | Stop | Permit | Refusal | Resting | Rested
    | Ready | Result | Beat | Ask | Again | Back | Pause | Answered | Said
    | Introduction | Welcome | Wait | Refused | Offer | Agreed | Pulse | Unknown | Judged
    | Question | Found | Hold | Shipped | Noted | Finish | Drain | Goodbye
)  # fmt: skip
KINDS: Mapping[str, type[Message]] = {
    kind.__name__: kind
    for kind in (
        *(Hello, Work, Stop, Permit, Refusal, Resting, Rested),
        *(Ready, Result, Beat, Ask, Again, Back, Pause, Answered, Said),
        *(Introduction, Welcome, Wait, Refused, Offer, Agreed, Pulse, Unknown, Judged),
        *(Question, Found, Hold, Shipped, Noted, Finish, Drain, Goodbye),
    )
}
