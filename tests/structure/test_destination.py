"""Where rows go by the export's file: an address without a password, for whoever opens it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from psycopg.conninfo import conninfo_to_dict
from sqlalchemy import make_url

from tests.structure.writing import Change, changed, mistakes, written
from tests.support.register import NOBODY
from tools.errors import UsageError
from tools.structure.destination import Destination
from tools.structure.mapping import Export, read_mapping

SERVER = {**NOBODY, "dbtype": "mysql", "host": "db.example", "dbname": "register"}


def to(which: str = "destination_db", **parts: Any) -> Change:
    return lambda export: export["database"].update({which: {**SERVER, **parts}})


def read(folder: Path, change: Change, mode: int = 0o644) -> Export:
    file = written(folder, changed(change))
    file.chmod(mode)
    return read_mapping(file)


@pytest.mark.parametrize(
    ("parts", "url"),
    [
        ({"dbtype": "sqlite", "host": "", "dbname": "out/register.db"}, "sqlite:out/register.db"),
        ({}, "mysql://db.example/register"),
        ({"dbtype": "MariaDB", "port": 3307}, "mariadb://db.example:3307/register"),
        (
            {"dbtype": "postgresql", "port": "5433", "username": "me"},
            "postgresql://me@db.example:5433/register",
        ),
        ({"host": "::1"}, "mysql://[::1]/register"),
    ],
)
def test_it_becomes_an_address(parts: dict[str, Any], url: str, tmp_path: Path) -> None:
    assert read(tmp_path, to(**parts)).destination == Destination(url)


def test_an_odd_user_is_the_same_for_whoever_reads_the_address(tmp_path: Path) -> None:
    user = "用户:a@b/c?d#e f%20"
    found = read(tmp_path, to(dbtype="postgresql", username=user)).destination
    assert found is not None
    assert make_url(found.url).username == user
    assert conninfo_to_dict(found.url)["user"] == user
    assert conninfo_to_dict(found.url)["host"] == "db.example"


def test_no_type_is_no_destination(tmp_path: Path) -> None:
    assert read(tmp_path, to(dbtype="")).destination is None


def test_a_password_is_read_where_only_its_owner_can_and_is_in_no_address(tmp_path: Path) -> None:
    found = read(tmp_path, to(password="hush"), 0o600).destination
    assert found == Destination("mysql://db.example/register", "hush")
    assert "hush" not in repr(found)


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o644])
def test_a_password_in_a_file_that_others_read_is_refused(mode: int, tmp_path: Path) -> None:
    with pytest.raises(UsageError) as caught:
        read(tmp_path, to(password="hush"), mode)
    assert str(caught.value) == (
        "register.json: database.destination_db.password: others can read this file: give the "
        "password in SHEAF_DATABASE_PASSWORD and remove it here, or chmod 600 register.json"
    )


def test_documents_may_come_from_mongodb(tmp_path: Path) -> None:
    change = to("source_db", dbtype="mongodb", port="27017", dbname="structure", password="hush")
    found = read(tmp_path, change, 0o600)
    assert found.source_db == Destination("mongodb://db.example:27017/structure", "hush")
    with pytest.raises(UsageError, match="give the password in SHEAF_MONGODB_PASSWORD"):
        read(tmp_path, change)


WRONG: list[tuple[dict[str, Any], str]] = [
    (
        {"dbtype": "mysqll"},
        "database.destination_db.dbtype 'mysqll' is not known; did you mean 'mysql'?",
    ),
    (
        {"dbtype": "oracle"},
        "database.destination_db.dbtype 'oracle' is not known; it must be one of sqlite, mysql, "
        "mariadb, postgresql",
    ),
    ({"dbname": ""}, "database.destination_db has no dbname: write the name of the database"),
    (
        {"host": ""},
        "database.destination_db.host: '' is no name of a host; write one, such as localhost",
    ),
    (
        {"host": "a@evil/x"},
        "database.destination_db.host: 'a@evil/x' is no name of a host; write one, such as "
        "localhost",
    ),
    (
        {"dbname": "x?ssl=0"},
        "database.destination_db.dbname: 'x?ssl=0' may have letters, digits, _, $, - and dots only",
    ),
    ({"port": "0"}, "database.destination_db.port: must be a number from 1 to 65535, or empty"),
    ({"port": "٣"}, "database.destination_db.port: must be a number from 1 to 65535, or empty"),
    ({"port": True}, "database.destination_db.port: must be a number from 1 to 65535, or empty"),
    ({"username": 1}, "database.destination_db.username: must be text, not 1"),
    ({"password": 12345}, "database.destination_db.password: must be text in double quotes"),
    ({"hots": "x"}, "database.destination_db.hots: no such key; did you mean 'host'?"),
]


@pytest.mark.parametrize(("parts", "sentence"), WRONG, ids=[each[1][:60] for each in WRONG])
def test_a_mistake_is_told(parts: dict[str, Any], sentence: str, tmp_path: Path) -> None:
    assert mistakes(tmp_path, to(**parts)) == [f"register.json: {sentence}"]
