"""Who comes as a node, and what it may do: its program must be ours, and so must the code of tasks
and parsers, which never travels.

Promise: a node that would find other things than we do is refused, in a sentence that says what to
do about it.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping

from ..base.version import VERSION
from .abroad import Abroad
from .messages import FORMAT, Agreed, Introduction, Offer, Refused, Wait, Welcome
from .program import program_digest
from .roster import Roster

logger = logging.getLogger(__name__)

CLOCK_S = 5.0  # so far a clock may be off before it is worth a word


class Reception:
    def __init__(self, roster: Roster, abroad: Abroad, log_level: int) -> None:
        self._roster = roster
        self._abroad = abroad
        self._log_level = log_level

    def join(self, name: str, join: Introduction) -> Welcome | Wait | Refused:
        if (why := self._roster.why_sent_away(name) or _unfit(join)) is not None:
            logger.warning("node %s is refused: %s", name, why)
            return Refused(join.session, why)
        if (why := self._roster.enter(name, join)) is not None:
            logger.warning("node %s waits: %s", name, why)
            return Wait(join.session, why)
        if abs(off := join.clock - time.time()) > CLOCK_S:
            logger.warning("the clock of node %s is %+.0f s off: set it by NTP", name, off)
        abroad = self._abroad
        setup = dict(abroad.setup)
        return Welcome(join.session, abroad.harvest, abroad.job, setup, self._log_level)

    def offer(self, name: str, offer: Offer) -> Agreed | None:
        """None: nobody knows this session."""
        seen = self._roster[name]
        if seen is None or seen.join.session != offer.session:
            return None
        places, refused = {}, {}
        for stage in self._abroad.cargoes:
            number = offer.places.get(stage)
            if why := self._unfit_for(stage, seen.join, offer):
                refused[stage] = why
            elif type(number) is int and number > 0:
                places[stage] = number
        agreed = Agreed(offer.session, places, refused)
        self._roster.agree(name, agreed)
        for stage, why in refused.items():
            logger.warning("node %s does nothing of %s: %s", name, stage, why)
        if places:
            numbers = ", ".join(f"{number} of {stage}" for stage, number in places.items())
            logger.warning("node %s works with us: %s at once", name, numbers)
        return agreed

    def _unfit_for(self, stage: str, join: Introduction, offer: Offer) -> str | None:
        lacking = [name for name in self._abroad.keys.get(stage, ()) if name not in join.keys]
        if lacking:
            return (
                f"it has no key for {', '.join(sorted(lacking))}, and would find fewer files: set "
                "its keys there as they are set here"
            )
        if reason := offer.codes.get(f"{stage} lacks"):
            return str(reason)[:500]
        return _other_code(self._abroad.codes.get(stage, {}), offer.codes.get(stage, {}))


def _other_code(ours: Mapping[str, str], theirs: object) -> str | None:
    known = theirs if isinstance(theirs, dict) else {}
    for name, digest in ours.items():
        if name not in known:
            return f"it has no {name}: copy the file from here to there"
        if known[name] != digest:
            return f"its {name} is another one than here: copy the file from here to there"
    return None


def _unfit(join: Introduction) -> str | None:
    mend = (
        "bring it to the same version as the coordinator (git pull, make run), and start it again"
    )
    if join.format != FORMAT:
        return f"it speaks format {join.format}, we speak {FORMAT}: {mend}"
    if join.version != VERSION:
        return f"it is version {join.version[:40]}, we are {VERSION}: {mend}"
    if join.program != program_digest():
        return f"its program differs from ours, though both say {VERSION}: {mend}"
    return None
