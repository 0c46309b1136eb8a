"""Where each setting comes from, as people are told: the place that really gave it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tools.commands.harvest import load_settings
from tools.commands.parsing import Parser, parsed
from tools.commands.sample_world import TASKS
from tools.commands.values import values_of
from tools.jobs.registry import job_named
from tools.journal.effective import Value
from tools.sample.garden import BASE
from tools.sample.seed_bank import STRUCTURES

BEGINNINGS = {
    "conceptnet": ("--quiet",),
    "pages": ("--seed", BASE),
    "layers": ("shop", "--folder", str(TASKS)),
    "structure": ("seeds", "--folder", str(STRUCTURES)),
}
SAID = {
    "--seed": "/c/en/cat", "--relations": "IsA", "--with": "Entails", "--without": "IsA",
    "--language": "en,de", "--scope": "domain", "--refetch-after": "7d",
    "--database": "sqlite:x.db", "--only": "home", "--source": "http://127.0.0.1:9",
}  # fmt: skip
NO_SETTING = ("--help", "--config", "--seeds", "--all", "--sample")


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def told(*words: object) -> dict[str, Value]:
    options = parsed([*map(str, words)])
    return {each.name: each for each in values_of(load_settings(options), options)}


def write(text: str) -> None:
    Path("sheaf.toml").write_text(text, "utf-8")


@pytest.mark.parametrize("job", BEGINNINGS)
def test_whatever_a_flag_changes_comes_from_it(job: str) -> None:
    """Each flag that the job has, by itself."""
    before = told(job, *BEGINNINGS[job])
    follows = {*job_named(job).taken_from.values()}
    tried = 0
    for action in Parser(job)._actions:
        flag = (action.option_strings or [""])[-1]
        if not flag or flag in NO_SETTING or flag in BEGINNINGS[job]:
            continue
        said = () if action.nargs == 0 else (SAID.get(flag, "7"),)
        for name, value in told(job, *BEGINNINGS[job], flag, *said).items():
            if value.text != before[name].text:
                tried += 1
                assert value.origin == f"flag {flag}" or value.origin in follows, (flag, value)
    assert tried > 1


def test_a_flag_goes_before_the_file_even_where_they_agree() -> None:
    write("depth = 9\n[pages]\ndepth = 2\nlimit = 4\n")
    pages = ("pages", "--seed", BASE)
    for typed, depth in (("5", "5"), ("2", "2"), ("3", "3")):
        assert told(*pages, "--depth", typed)["pages.depth"][1:] == (depth, "flag --depth")
    assert told(*pages)["pages.depth"][1:] == ("2", "sheaf.toml, line 3")
    assert told(*pages)["pages.limit"][1:] == ("4", "sheaf.toml, line 4")
    assert told(*pages, "--delay", "0")["pages.delay_s"][1:] == ("0.0", "flag --delay")


def test_what_a_job_takes_from_its_own_section_comes_from_there() -> None:
    write("attempts = 3\nlimit = 5\n[clock]\nscan_s = 300\n[pages]\nlimit = 7\n")
    found = told("pages", "--seed", BASE)
    for name in ("attempts", "limit", "clock.scan_s", "state"):
        assert found[name].origin == f"pages.{name.rpartition('.')[2]}"
    assert found["limit"].text == "7" and found["pages.limit"].origin == "sheaf.toml, line 6"
    assert told("pages", "--seed", BASE, "--state", "x")["state"][1:] == ("x", "flag --state")
    assert told("conceptnet", "-q")["attempts"][1:] == ("3", "sheaf.toml, line 1")
    layers = told("layers", *BEGINNINGS["layers"])
    assert layers["attempts"].origin == "the task"
    assert layers["layers.task"][1:] == ("shop", "the command line")


def test_a_section_is_no_place_of_what_it_lacks(monkeypatch: pytest.MonkeyPatch) -> None:
    write(
        '[pages]\nseeds = ["http://h/"]\nlimit_per_host = 3\n[extend]\nservers = {commons = "http://h"}\n'
    )
    monkeypatch.setenv("SHEAF_DEPTH", "of no program of ours")
    monkeypatch.setenv("SHEAF_PAGES_SCOPE", "domain")
    found = told("pages")
    assert found["pages.limit"][1:] == ("-", "default")
    assert found["pages.seeds"].origin == "sheaf.toml, line 2"
    assert found["pages.scope"][1:] == ("domain", "environment SHEAF_PAGES_SCOPE")
    assert found["depth"].origin == "default"
    assert found["extend.servers"].origin == "sheaf.toml, line 5"
    write("pages = {limit_per_host = 3}\n")
    assert told("pages", "--seed", BASE)["pages.limit"].origin == "default"


def test_seeds_in_other_words_come_from_where_they_were_said() -> None:
    write('depth = 2\nseeds = ["dog"]\n')
    assert told("conceptnet", "-q")["seeds"][1:] == ("/c/en/dog", "sheaf.toml, line 2")


def test_the_sample_gives_what_its_user_does_not() -> None:
    assert told("conceptnet", "-q", "--sample")["seeds"].origin == "flag --sample"
    found = told("conceptnet", "-q", "--sample", "--seed", "dog")
    assert found["seeds"].origin == "flag --seed"


def test_what_was_typed_need_not_be_read_again() -> None:
    """The name of a task that its user chose stands behind everything."""
    options = parsed(["layers", *BEGINNINGS["layers"], "--serve"])
    options.typed = ["layers", "--serve", "shop"]
    found = {each.name: each.origin for each in values_of(load_settings(options), options)}
    assert found["layers.task"] == "the command line"
    assert found["layers.folder"] == "flag --folder"


def test_of_a_file_more_are_fetched_at_once_by_default(tmp_path: Path) -> None:
    (tmp_path / "a.csv").touch()
    found = told("conceptnet", "-q", "--source", "a.csv")
    assert found["fetch_workers"][1:] == ("200", "default")
