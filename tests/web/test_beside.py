"""`--serve`: the page beside a harvest comes and goes with it."""

from __future__ import annotations

import os
import signal
from contextlib import suppress
from pathlib import Path

from tests.support.command import start_in
from tests.web.scene import PATIENCE_S, Served, wait_for
from tests.web.serving import address_in

FLAGS = ("--sample", "-q", "--serve", "0")


def test_it_ends_with_the_harvest(tmp_path: Path) -> None:
    with start_in(tmp_path, "main.py", *FLAGS) as harvest:
        page = Served(address_in(harvest), tmp_path / "state")
        wait_for(lambda: page.get("/api/status").json["word"] == "running")
        values = {each["name"]: each for each in page.get("/api/settings").json["values"]}
        assert values["state"]["text"] == "state"
        wait_for(lambda: page.get("/api/overview").json["pools"].get("finished"))  # else in vain
        assert page.ask("/act/stop", "POST", Authorization=f"Bearer {page.token}").status == 200
        harvest.communicate(timeout=PATIENCE_S)
        assert harvest.returncode == 0
    assert not answers(page)
    assert not (tmp_path / "state" / "serve-token").exists()


def test_it_tells_of_a_death_and_then_goes_too(tmp_path: Path) -> None:
    with start_in(tmp_path, "main.py", *FLAGS) as harvest:
        page = Served(address_in(harvest), tmp_path / "state")
        wait_for(lambda: page.get("/api/status").json["word"] == "running")
        os.kill(harvest.pid, signal.SIGKILL)
        harvest.wait(PATIENCE_S)
        wait_for(lambda: page.get("/api/status").json["word"] == "killed", 5.0)
        wait_for(lambda: not answers(page))


def answers(page: Served) -> bool:
    with suppress(OSError):
        return page.get("/api/status").status == 200
    return False
