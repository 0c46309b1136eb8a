"""What a harvest does on the hour by its defaults, and who is told: by a clock that is set, and by
notices that arrive."""

from __future__ import annotations

from pathlib import Path

from tests.faults.harvests import Harvest
from tests.faults.injection import Clock, Process, wait_until
from tests.faults.slow import media_held_after
from tests.support.shipped import new_node, raw
from tests.support.worlds.conceptnet import World
from tests.support.worlds.mail import Hook
from tools.media.ledger_lines import FILES

GOES_ON, SHIPPED, ENDED = "the harvest goes on", "transport done", "the harvest has ended"


class Day:
    """One of a harvest, from hour to hour."""

    def __init__(self, clock: Clock, hook: Hook) -> None:
        self._clock, self._hook = clock, hook

    def notices_at(self, hour: int, number: int) -> dict[str, str]:
        """So many, text by title."""
        self._clock.at(f"2030-06-01T{hour - 1}:59:59.800")
        return self.next(number)

    def next(self, number: int) -> dict[str, str]:
        notices = [self._hook.next() for _ in range(number)]
        return {each["title"]: each["message"] for each in notices}


def test_media_go_out_every_third_hour_and_every_hour_it_is_told_how_far_it_is(
    tmp_path: Path, world: World
) -> None:
    clock, books = Clock(tmp_path / "offset"), tmp_path / "harvest" / "m" / FILES
    clock.at("2030-06-01T10:20:00")
    with (
        new_node("paramiko", tmp_path / "node") as node,
        Hook() as hook,
        media_held_after(books) as (media, may_go_on),
    ):
        one, table = "extend_workers = 1", node.settings()
        harvest = Harvest(tmp_path / "harvest", world, media, settings=one, tables=table)
        environment = {**clock.environment, "SHEAF_NOTICES": hook.address()}
        with Process(tmp_path / "said", harvest.command, **environment) as process:
            wait_until(books.exists, "media in the books")
            day = Day(clock, hook)
            told = day.notices_at(11, 1)
            assert "concepts and relations done" in told.pop(GOES_ON) and not told
            assert list(raw(node).iterdir()) == [], "it is not yet time"
            told = day.notices_at(12, 2)
            assert told.keys() == {GOES_ON, SHIPPED} and "arrived" in told[SHIPPED]
            assert len(list(raw(node).glob("*/manifest.json"))) == 1
            for hour in (13, 14):
                assert day.notices_at(hour, 1).keys() == {GOES_ON}
            told = day.notices_at(15, 2)
            assert told.keys() == {GOES_ON, SHIPPED} and "nothing to ship" in told[SHIPPED]
            may_go_on.set()
            assert day.next(2).keys() == {SHIPPED, ENDED}
            assert process.end() == 0, process.log
        assert hook.arrived.empty()
