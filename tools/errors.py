"""Errors say what to do next.

A worker raises one of the first ones and the monitor obeys; the others end the program before or
instead of a harvest, each with its exit code and one sentence for the user.
"""

from __future__ import annotations

import errno

NO_ROOM = (errno.ENOSPC, errno.EDQUOT)
"""What the system says when the disk, or the user's share of it, is full."""


NO_FILES = (errno.EMFILE, errno.ENFILE)
"""What it says when no more files and connections can be open at once."""


class HarvestError(Exception):
    """Base of everything Sheaf raises on purpose; `exit_code` is for where nobody can obey it."""

    exit_code = 5


class RetryLater(HarvestError):
    """Transient for this URI: back to its pool for a while; counts as an attempt."""

    def __init__(self, reason: str, delay: float | None = None) -> None:
        super().__init__(reason)
        self.delay = delay


class ServerTrouble(RetryLater):
    """No usable answer after several tries. Whoever knows the source tells if it is down."""


class Unavailable(HarvestError):
    """Whoever should answer answers nobody now: the stage waits, no attempt is spent."""

    exit_code = 3

    def __init__(self, reason: str, delay: float | None = None) -> None:
        super().__init__(reason)
        self.delay = delay


class NoRoom(Unavailable):
    """The disk is full, or no more files can be open: whoever writes files waits."""


def no_more_files(error: OSError) -> NoRoom:
    return NoRoom(f"no more files can be opened now ({error.strerror})")


class ComeBack(HarvestError):
    """Something this URI still needs rests for a while: it waits that long, others go on, and no
    attempt is spent."""

    def __init__(self, reason: str, delay: float) -> None:
        super().__init__(reason)
        self.delay = delay


class GiveUp(HarvestError):
    """Permanent for this URI: park it with the reason and never ask again."""


class UnknownConcept(GiveUp):
    """The source was asked, and has no such concept."""

    def __init__(self) -> None:
        super().__init__("the source does not know this concept")


class LeftOut(GiveUp):
    """Only what the filter keeps was asked for it: it may be unknown, or rejected."""

    def __init__(self) -> None:
        super().__init__("nothing in the file about this concept passes the filter")


class BadStatus(GiveUp):
    """The host answered, and its answer is no."""

    def __init__(self, reason: str, status: int) -> None:
        super().__init__(reason)
        self.status = status


class Interrupted(HarvestError):
    """The harvest is stopping while this task waits: give the URI back, no attempt is spent."""


class Died(HarvestError):
    """The process that worked on it is dead: the URI goes back marked, no attempt is spent."""


class Fatal(HarvestError):
    """Ends the program with `exit_code`; the message is one sentence for the user."""

    exit_code = 1


class UsageError(Fatal):
    """A flag, a setting or a seed is wrong."""

    exit_code = 2


class WrongSetting(UsageError):
    """A setting is wrong; its full name tells where to look for it."""

    def __init__(self, name: str, sentence: str) -> None:
        super().__init__(sentence)
        self.name = name


class Unreachable(Fatal):
    """The source or the graph cannot be reached at start."""

    exit_code = 3


class AlreadyRunning(Fatal):
    """Another process holds this state folder."""

    exit_code = 4


class StopHarvest(Fatal):
    """Nobody can work (disk full, folder not writable): end cleanly, nothing is lost."""

    exit_code = 5


class StateDamaged(Fatal):
    """The record of the harvest cannot be trusted; it is never replaced by itself."""

    exit_code = 6


class NothingHarvested(Fatal):
    """The harvest came to its end, and no relation was kept."""

    exit_code = 7
