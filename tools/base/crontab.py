"""The times of a crontab, by APScheduler's reading of it.

Limit: where a crontab names a day and a weekday, both must fit.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

from apscheduler.triggers.cron import CronTrigger

from ..errors import WrongSetting

_DAYS = ("sun", "mon", "tue", "wed", "thu", "fri", "sat")
_NUMBERS = re.compile(r"^(?:\*(?=/)|([0-7])(?:-([0-7]))?)(?:/([1-7]))?$")


class Slots(CronTrigger):  # type: ignore[misc]  # it has no types
    """The times of a crontab. However many were missed, the next one is the next after now."""

    def get_next_fire_time(self, previous: datetime | None, now: datetime) -> datetime | None:
        start = now if previous is None else now + timedelta(microseconds=1)
        return super().get_next_fire_time(None, start)  # type: ignore[no-any-return]

    def first_from(self, moment: datetime) -> datetime:
        slot: datetime | None = self.get_next_fire_time(None, moment)
        return datetime.max.replace(tzinfo=UTC) if slot is None else slot

    def after_set_back(self, now: datetime, since_last_s: float | None) -> datetime | None:
        """The first by the new time that is half of the usual distance or more after the last."""
        first = self.get_next_fire_time(now, now)
        second = first and self.get_next_fire_time(first, first)
        if since_last_s is None or first is None or second is None:
            return first
        is_near = timedelta(seconds=since_last_s) + (first - now) < (second - first) / 2
        return second if is_near else first


def parse(times: str, setting: str) -> Slots:
    try:
        *fields, weekday = times.split()
        slots: Slots = Slots.from_crontab(" ".join((*fields, weekdays(weekday))), UTC)
    except ValueError:
        raise WrongSetting(
            setting,
            f'{setting} must be minute, hour, day, month and weekday in UTC, like "0 */3 * * *" for'
            f' every third hour, or "" for never; it is {times!r}',
        ) from None
    if slots.get_next_fire_time(None, datetime.now(UTC)) is None:
        sentence = f'{setting} is {times!r}, which never comes; write "" for never'
        raise WrongSetting(setting, sentence)
    return slots


def weekdays(field: str) -> str:
    """Names for numbers: a crontab begins its week with 0 on Sunday, APScheduler on Monday.

    >>> weekdays("1-5"), weekdays("0,7"), weekdays("*/3"), weekdays("*"), weekdays("mon-wed")
    ('mon,tue,wed,thu,fri', 'sun,sun', 'sun,wed,sat', '*', 'mon-wed')
    """
    return ",".join(_NUMBERS.sub(_names, part) for part in field.split(","))


def _names(numbers: re.Match[str]) -> str:
    first, last, step = numbers.groups()
    days = range(int(first or 0), int(last or first or 6) + 1, int(step or 1))
    return ",".join(_DAYS[day % 7] for day in days)
