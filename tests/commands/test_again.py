"""The command that goes on with a harvest is the one its user typed."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from main import main
from tests.support.dump_world import signals_kept
from tests.support.worlds.conceptnet import World, line
from tools.commands.again import command_of, facts_of


@pytest.fixture(autouse=True)
def empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.chdir(tmp_path)
    with signals_kept():
        yield


def test_retry_after_a_sample_says_so(capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["--sample", "--no-media", "--limit", "2", "-q"]) == 0
    assert main(["retry"]) == 0
    said = capfd.readouterr().out
    assert said == (
        "0 go back to work; `python main.py --sample --no-media --limit 2 -q` goes on\n"
    )


def test_retry_names_the_last_command(capfd: pytest.CaptureFixture[str]) -> None:
    with World([line("/r/IsA", "/c/en/a", "/c/en/b")]) as world:
        flags = ["--source", world.url, "--seed", "a", "--no-media", "-q", "--state", "my state"]
        assert main(flags) == 0
        assert main([*flags, "--fresh"]) == 0
        capfd.readouterr()
        assert main(["retry", "--state", "my state"]) == 0
    assert f"`python main.py --source {world.url} --seed a --no-media -q --state 'my state'`" in (
        capfd.readouterr().out
    )


@pytest.mark.parametrize(
    ("typed", "command"),
    [
        ([], "python main.py"),
        (["--fresh", "--sample"], "python main.py --sample"),
        (["--fres", "--resume=x", "--limit", "3"], "python main.py --limit 3"),
        (["--resume", "x.db", "--seed", "ice cream"], "python main.py --seed 'ice cream'"),
        (["--graph", "neo4j://me@host"], "python main.py --graph neo4j://me@host"),
    ],
)
def test_what_is_done_once_is_not_done_again(typed: list[str], command: str) -> None:
    assert command_of(facts_of(typed)) == command


@pytest.mark.parametrize("password", ["hunter2", "a,hunter2", "a'hunter2", '"hunter2"'])
def test_a_password_is_not_written_down(password: str) -> None:
    assert "hunter2" not in str(facts_of(["--source", f"http://me:{password}@host/"]))


@pytest.mark.parametrize(
    ("world", "command"),
    [
        ("the built-in sample", "python main.py --sample"),
        ("ConceptNet", "python main.py"),
        ("all of x.csv (sha256 12)", "python main.py --source FILE --all"),
    ],
)
def test_an_older_state_tells_what_it_knows(world: str, command: str) -> None:
    assert command_of({"world": world}) == command
