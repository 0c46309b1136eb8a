"""What Prometheus is told of any job that runs."""

from __future__ import annotations

import socket
import time
from pathlib import Path
from urllib.error import URLError
from urllib.request import urlopen

import pytest
from prometheus_client.parser import text_string_to_metric_families

from tests.jobs.test_second_job import FILES, LAUNCH, texts, words_flags  # noqa: F401
from tests.support.command import run, says, start
from tests.support.ports import free_port

Numbers = dict[tuple[str, ...], float]


def asked(port: int) -> Numbers:
    """Each number by its name and its labels' values."""
    with urlopen(f"http://127.0.0.1:{port}/metrics", timeout=30) as answer:
        text = answer.read().decode()
    return {
        (each.name, *(value for _, value in sorted(each.labels.items()))): each.value
        for family in text_string_to_metric_families(text)
        for each in family.samples
    }


def asked_until(port: int, wanted: tuple[str, ...], number: float) -> Numbers:
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        try:
            if (found := asked(port)).get(wanted, 0) >= number:
                return found
        except (URLError, ConnectionError):
            pass
        time.sleep(0.1)
    raise AssertionError(f"{wanted} is not {number}")


def test_prometheus_can_ask_any_job_that_runs(texts: Path) -> None:  # noqa: F811
    port = free_port()
    flags = words_flags(texts, "--pause-s", "0.2", "--metrics", port)
    working = start(LAUNCH, *flags)
    try:
        # Labels stand in the order of their names: outcome, stage; stage, state.
        found = asked_until(port, ("sheaf_tasks_total", "done", "read"), 6)
        assert found["sheaf_task_seconds_count", "read"] >= 6
        assert found["sheaf_task_seconds_sum", "read"] >= 6 * 0.2
        states = [found["sheaf_workers", "read", each] for each in ("busy", "idle", "paused")]
        assert sum(states) == 2 and states[0] >= 1
        assert found["sheaf_pool", "finished"] >= 1
        assert found["sheaf_disk_free_bytes",] > 0
        assert found["sheaf_words_written",] >= 6
        assert found["sheaf_words_by_letter_total", "s"] >= 2
        run(LAUNCH, "main", "pause", "read", "1", "--state", texts.parent / "state")
        asked_until(port, ("sheaf_workers", "read", "paused"), 1)
        working.terminate()
        working.communicate(timeout=60)
    finally:
        working.kill()
    before = found["sheaf_tasks_total", "done", "read"]
    again = start(LAUNCH, *flags)
    try:  # what was counted stays, over all runs
        found = asked_until(port, ("sheaf_tasks_total", "done", "read"), before)
        assert found["sheaf_tasks_total", "failed", "read"] <= 1
    finally:
        again.kill()
        again.communicate(timeout=60)


@pytest.mark.parametrize(("port", "sentence"), [("70000", "at most 65,535"), ("x", "whole number")])
def test_a_port_that_is_none_is_refused(texts: Path, port: str, sentence: str) -> None:  # noqa: F811
    assert sentence in says(run(LAUNCH, *words_flags(texts, "--metrics", port)), 2)


def test_a_port_that_is_taken_is_named(texts: Path) -> None:  # noqa: F811
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        said = run(LAUNCH, *words_flags(texts, "--metrics", port))
    assert said.returncode == 2
    assert f"metrics cannot be served at 127.0.0.1:{port}: Address already in use" in said.stderr


def test_the_tally_is_no_matter_of_reports(texts: Path) -> None:  # noqa: F811
    assert run(LAUNCH, *words_flags(texts)).returncode == 0
    told = run(LAUNCH, "history", "--state", texts.parent / "state").stdout
    assert f"{FILES + 1} of {FILES + 1} files done" in told
    assert "tasks read" not in told and "us read" not in told
