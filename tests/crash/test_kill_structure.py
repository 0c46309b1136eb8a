"""`kill -9` of a structure at random moments, each followed by a restart: the same rows."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from random import Random

import pytest

from tests.faults.injection import Process, main_py, run
from tests.soak.compare import state_flaws
from tests.support.chance import any_seed
from tests.support.register import make_register, page
from tests.support.structured import Register

pytestmark = pytest.mark.timeout(600)

KILLS = 30
COMPANIES = 60


@pytest.fixture
def register(tmp_path: Path) -> Iterator[Register]:
    """Of many companies, some of whose pages are there twice."""
    found = Register(make_register(tmp_path), workers=1)
    for number in range(COMPANIES):
        found.write(
            f"raw/c{number}.html", page("a.html", f"公司{number}").replace("91A", f"9{number}")
        )
        if number % 7 == 0:
            text = (found.structures / f"raw/c{number}.html").read_text()
            found.write(f"raw/copy{number}.html", text)
    yield found


def command(register: Register) -> list[str]:
    flags = ("--state", register.state, "--folder", register.structures)
    return main_py("structure", "register", *flags)


def essence(register: Register) -> dict[str, list[tuple[object, ...]]]:
    """All rows with whose they are."""
    tables = ("company", "person", "report", "assets", "licence")
    with closing(sqlite3.connect(register.state / "register.db")) as db:
        return {each: sorted(db.execute(f"SELECT * FROM {each}"), key=repr) for each in tables}


def test_kills_change_nothing(register: Register, tmp_path: Path) -> None:
    seed = any_seed()
    print(f"kills drawn with seed {seed}")
    chance = Random(seed)
    quiet = register.state.with_name("quiet")
    register.state, disturbed = quiet, register.state
    assert run(tmp_path / "said", command(register))[0] == 0
    truth = essence(register)
    assert len(truth["company"]) == COMPANIES + 2
    register.state = disturbed
    edits = {chance.randrange(KILLS): number for number in range(8)}
    for number in range(KILLS):
        if number in edits:  # and back, so that the end is the same
            disturb(register, edits[number])
        with Process(tmp_path / f"said-{number}", command(register)) as process:
            process.ends_within(chance.uniform(0.2, 2.0))
            process.kill()
        if register.pools_file.exists():
            assert list(state_flaws(register.pools_file)) == []
    for number in range(8):
        restore(register, number)
    code, process = run(tmp_path / "said-last", command(register))
    assert code == 0, process.log
    code, process = run(tmp_path / "said-again", command(register))
    assert essence(register) == truth


def disturb(register: Register, number: int) -> None:
    register.write(f"raw/c{number}.html", page("b.html", f"other {number}"))


def restore(register: Register, number: int) -> None:
    text = page("a.html", f"公司{number}").replace("91A", f"9{number}")
    register.write(f"raw/c{number}.html", text)
