"""Whether the harvest runs, in a word and a sentence: it stands on every page."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

from ..base.text import ago, amount, date, duration, roughly
from ..errors import HarvestError
from ..journal import pauses
from ..reports.view import View
from .overview import stages_of
from .site import Site

Word = Literal["running", "paused", "waiting", "ended", "killed", "absent"]


class Status(NamedTuple):
    """`can` are the changes that make sense now."""

    word: Word
    sentence: str
    world: str
    job: str
    left: str = ""
    paused: str = ""  # which workers, if only some are
    can: tuple[str, ...] = ()
    rates: str = ""  # of the stages that are at work

    @property
    def title(self) -> str:
        """Of the window, for whoever looks at another one."""
        return " · ".join(filter(None, (self.word, self.rates, self.world, "Sheaf")))

    def data(self) -> dict[str, Any]:
        """As programs get it."""
        return {**self._asdict(), "title": self.title}


def status_of(site: Site) -> Status:
    """A state that cannot be read is no reason for no page."""
    try:
        view = site.view()
    except HarvestError as error:
        return Status("absent", str(error), "nothing yet", "")
    word = _word(view, site)
    return Status(
        word,
        _sentence(view, word),
        view.seen.facts.get("world") or view.job.name,
        view.job.name,
        _left(view) if word in ("running", "paused") else "",
        pauses.spoken(view.paused_slots, pauses.slots_in(view.seen.facts)),
        () if site.sources.is_read_only else _can(view, word),
        ", ".join(f"{each.name} {each.pace}" for each in stages_of(view) if each.pace),
    )


def _word(view: View, site: Site) -> Word:
    if view.running is not None:
        if view.paused_since is not None:
            return "paused"
        return "waiting" if view.next_round else "running"
    is_at_work = any(n for name, n in view.seen.pools.items() if name.startswith("on_"))
    return "killed" if is_at_work or not site.has_ended() else "ended"


def _sentence(view: View, word: Word) -> str:
    assist = view.seen.assist
    worked = duration(assist.worked + view.course.since_known)
    runs = f"{worked} worked in {amount(assist.runs, 'run')}" if assist.runs else ""
    last = assist.samples[-1].time if assist.samples else None
    if view.running is not None:
        begun = f"since {date(view.running.since)}, process {view.running.pid}"
        if view.paused_since is not None:
            begun = f"since {date(view.paused_since)}: no new task begins"
        elif view.next_round:
            begun = f"for its next round, which begins {date(view.next_round)}"
        return f"{begun}; {runs}" if runs else begun
    when = f", last active {ago(view.now - last)}" if last else ""
    how = "it ended without a word: killed, or its computer went down" if word == "killed" else ""
    return "; ".join(filter(None, (f"not running{when}", how, runs)))


def _left(view: View) -> str:
    left = view.left
    if left.time is not None:
        low, likely, high = (roughly(each) for each in left.time)
        return f"about {likely} left ({low} to {high})" if left.time.likely else ""
    return f"time left {left.why}" if left.why else ""


def _can(view: View, word: Word) -> tuple[str, ...]:
    if view.running is None:
        return ()
    return ("resume", "stop") if word == "paused" else ("pause", "stop")
