"""The password of Neo4j."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.toml import loaded, refusal, secret_file
from tools.graphs.settings import PASSWORD_VARIABLE
from tools.settings import load

pytestmark = pytest.mark.usefixtures("no_settings")


def password_from(file: Path) -> str:
    return loaded(f'[neo4j]\npassword_file = "{file}"').neo4j.password


def test_without_a_secret_there_is_no_password() -> None:
    assert load(None, {}).neo4j.password == ""


def test_the_password_comes_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(PASSWORD_VARIABLE, "hunter2 ")
    assert load(None, {}).neo4j.password == "hunter2 "


@pytest.mark.parametrize("end", ["", "\n", "\r\n"])
def test_the_password_comes_from_a_file_and_the_end_of_the_line_is_no_part_of_it(end: str) -> None:
    file = secret_file(f" hünter, 2{end}", name="password")
    assert password_from(file) == " hünter, 2"


def test_the_environment_goes_before_the_file(monkeypatch: pytest.MonkeyPatch) -> None:
    file = secret_file("from the file", name="password")
    monkeypatch.setenv(PASSWORD_VARIABLE, "from the environment")
    assert password_from(file) == "from the environment"
    monkeypatch.setenv(PASSWORD_VARIABLE, "")
    assert password_from(file) == "from the file"


@pytest.mark.parametrize("mode", [0o644, 0o640, 0o604, 0o660, 0o610])
def test_a_password_that_others_can_read_is_refused(mode: int) -> None:
    secret_file("hunter2", mode, "password")
    sentence = refusal('[neo4j]\npassword_file = "password"')
    assert sentence == "password holds secrets but others can read it: chmod 600 password"


def test_a_password_file_that_is_missing_is_named() -> None:
    sentence = refusal('[neo4j]\npassword_file = "gone"')
    assert sentence == "cannot read gone: No such file or directory"


def test_a_password_cannot_stand_in_the_settings_file() -> None:
    sentence = refusal('[neo4j]\npassword = "hunter2"')
    assert sentence.startswith("unknown setting neo4j.password; ")
    assert "hunter2" not in sentence


def test_no_printed_setting_shows_the_password_of_neo4j(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(PASSWORD_VARIABLE, "hunter2")
    settings = load(None, {})
    assert settings.neo4j.password == "hunter2"
    assert "hunter2" not in f"{settings!r} {settings} {settings.neo4j!r} {settings.neo4j}"
