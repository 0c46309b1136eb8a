"""Who is said to be at work, where more are than have names in the state."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.support.state_file import make, write
from tools.journal.at_work import MOST, AtWork, at_work_fact
from tools.journal.instance import only_instance
from tools.reports.view import STRANGER
from tools.settings import Settings
from tools.web.site import Site, Sources
from tools.web.templates import rendering
from tools.web.work import work

READY = 30


@pytest.mark.parametrize("number", [3, MOST, MOST + 120])
def test_who_has_no_name_is_at_work_all_the_same(number: int, tmp_path: Path) -> None:
    uris = {f"/c/en/{at}": "to_fetch" for at in range(number + READY)}
    tasks = [AtWork(f"fetch-{at}", "fetch", uri, 1, 0, 1e9) for at, uri in enumerate(uris)]
    file = make(tmp_path / "pools.db", uris)
    write(
        file,
        ("INSERT INTO lease (id, stage) SELECT id, 'fetch' FROM uri", ()),
        *(("INSERT INTO meta VALUES (?, ?)", fact)
          for fact in at_work_fact(os.getpid(), tasks[:number]).items()),
    )  # fmt: skip
    site = Site(Sources(Settings(state=tmp_path), file, lambda _: STRANGER))
    with only_instance(tmp_path):
        shown = work(site)
    assert len(shown["at_work"]) == min(number, MOST)
    assert (shown["at_work_in_all"], shown["ready"]) == (number, READY)
    text = rendering(None)("parts/work.html", **shown, status={})
    assert (f"<small>{MOST} of {number}</small>" in text) == (number > MOST)
    assert f"{READY} more lie ready" in text
