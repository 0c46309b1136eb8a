"""What becomes of a request whose host is away, or asks for a pause.

Promise: a host that does not answer costs its requests an attempt each time; once it seems to be
away, it rests, and they wait with it.
"""

from __future__ import annotations

from ..errors import ComeBack, HarvestError, RetryLater, Unavailable
from .hosts import Hosts
from .limits import pause_asked
from .response import Response

NO_RULES = "robots.txt could not be had"


def away(hosts: Hosts, lane: str, reason: str) -> HarvestError:
    """What to raise for a host that did not answer, or could not."""
    if hosts.trouble(lane, reason):
        return ComeBack(reason, 0.0)
    if hosts.is_own_line():
        return Unavailable(f"no host answers any more: {reason}")
    return RetryLater(reason)


def without_rules(hosts: Hosts, lane: str, reason: str) -> HarvestError:
    """The same for its robots.txt: until that can be had, the host is asked for nothing."""
    error = away(hosts, lane, reason)
    if isinstance(error, Unavailable):
        return error
    hosts.rest(lane, None, reason)
    return ComeBack(reason, 0.0)


def rest_if_asked(hosts: Hosts, lane: str, response: Response) -> None:
    asked, status = response.header("Retry-After"), response.status
    if status == 429 or (status == 503 and asked):
        hosts.rest(lane, pause_asked(asked), f"HTTP {status}")
        raise ComeBack(f"the host asks for a pause (HTTP {status})", 0.0)
