"""Files for neo4j-admin's import: exact, whole or not there, and loaded for real."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from tests.support.command import Here, run, says
from tests.support.graph_world import fill, filled, graph_in, in_neo4j, in_sqlite
from tests.support.needs import missing
from tests.support.neo4j_server import (
    CANNOT_BE_HAD,
    AnyServer,
    CannotBeHad,
    Server,
    run_with,
    script,
)
from tests.support.store_contract import DOG_BARKS, DOG_MEDIA, write
from tools.add import Entity, unseen
from tools.conceptnet.rules import ALL_RELATIONS
from tools.exports.catalogue import export
from tools.exports.folder import README, TITLE
from tools.graphs.cypher import TypedTexts
from tools.graphs.sqlite import SqliteGraph

ENTITY = "uri:ID(Entity),name,language,term,sense,image:string[],audio:string[],visual:string[]"
NAMES = [
    f"{name}{suffix}"
    for name in ("entities", "media", "relations")
    for suffix in ("-header.csv", ".csv")
]
SMALL = {
    "entities-header.csv": f"{ENTITY},:LABEL\n",
    "entities.csv": (
        '"/c/en/bark","bark","en","/c/en/bark",,,,,"Entity"\n'
        '"/c/en/dog","dog","en","/c/en/dog",,"m/1.png\x1fm/0.png",,"m/0.gif","Entity"\n'
        '"/c/en/odd/n","a ""b"", \\\nü😀 ","en","/c/en/odd","",,,,"Entity"\n'
    ),
    "media-header.csv": (
        "path:ID(Media),owner,kind,mime,sha256,bytes:long,width:long,height:long,"
        "duration:double,license,license_url,author,page,source,provider,"
        "title,phash,time,remark,:LABEL\n"
    ),
    "media.csv": "".join(
        f'"{path}","/c/en/dog","{kind}","image/png","{"00" * 32}",1000,640,480,,"cc0",'
        '"https://example.org/cc0","Ada","https://example.org/page","https://example.org/0.png",'
        '"test",,,,,"Media"\n'
        for path, kind in (("m/1.png", "image"), ("m/0.png", "image"), ("m/0.gif", "visual"))
    ),
    "relations-header.csv": (
        ":START_ID(Entity),:END_ID(Entity),:TYPE,uri,weight:double,surfaceText,license,dataset,"
        "image:string[],audio:string[],visual:string[]\n"
    ),
    "relations.csv": (
        '"/c/en/dog","/c/en/bark","CapableOf","/a/[/r/CapableOf/,/c/en/dog/,/c/en/bark/]",'
        '0.5,,"","/d/test",,,\n'
    ),
}


def contents(folder: Path) -> dict[str, str]:
    return {path.name: path.read_bytes().decode() for path in folder.glob("*.csv")}


@pytest.fixture
def small(tmp_path: Path) -> str:
    """The address of a graph with null, empty and hard texts, and lists."""
    with closing(SqliteGraph(tmp_path / "small.db")) as graph:
        write(graph, DOG_BARKS._replace(weight=0.5, license=""))
        graph.write([Entity("/c/en/odd/n", 'a "b", \\\nü😀 ', "en", "/c/en/odd", "")], ())
        graph.attach({"/c/en/dog": DOG_MEDIA})
    return f"sqlite:{tmp_path / 'small.db'}"


# --- the files ---------------------------------------------------------------------------------


def test_the_files_hold_every_record_to_the_letter(small: str, tmp_path: Path) -> None:
    done = run("main.py", "export", "deep/er/files", "--graph", small, cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert "scripts/neo4j import deep/er/files" in done.stdout
    assert contents(tmp_path / "deep/er/files") == SMALL
    assert [path.name for path in (tmp_path / "deep/er").iterdir()] == ["files"]


def test_an_existing_folder_is_refused_and_left_alone(small: str, tmp_path: Path) -> None:
    folder = tmp_path / "files"
    folder.mkdir()
    (folder / "thesis.txt").write_text("mine")
    done = run("main.py", "export", folder, "--graph", small, cwd=tmp_path)
    assert f"{folder} exists already" in says(done, 2)
    assert [path.read_text() for path in folder.iterdir()] == ["mine"]
    assert not (tmp_path / "files.part").exists()


def test_an_export_that_was_interrupted_does_not_disturb_the_next(
    small: str, tmp_path: Path
) -> None:
    part = tmp_path / "files.part"
    part.mkdir()
    (part / README).write_text(f"{TITLE}\n")
    for name in NAMES[:-1]:
        (part / name).write_text("half a line of an earlier expo" * 1000)
    done = run("main.py", "export", "files", "--graph", small, "-q", cwd=tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert contents(tmp_path / "files") == SMALL
    assert not part.exists()


@pytest.mark.parametrize("folder", ["x" * 300, "x" * 252, f"{'x' * 300}/files"])
def test_a_name_that_is_too_long_is_wrong_input(small: str, here: Here, folder: str) -> None:
    told = here("export", folder, "--graph", small)
    assert told.startswith(f"2 sheaf: {folder} is too long a name")
    assert [path.name for path in Path().iterdir() if not path.name.startswith("small.db")] == []


@pytest.mark.parametrize("folder", ["/proc/sheaf/files", "small.db/files", "files"])
def test_a_place_that_cannot_be_written_is_named(small: str, here: Here, folder: str) -> None:
    Path("files.part").write_text("a file where a folder should be")
    told = here("export", folder, "--graph", small)
    assert told.startswith(f"5 sheaf: {folder} cannot be written: ")
    assert not Path("files").exists()


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["export", "--graph", "sqlite:small.db"], "export needs a folder"),
        (["export", "files", "--graph", "sqlite:gone.db"], "there is no graph at sqlite:gone.db"),
    ],
)
def test_what_is_missing_is_named(small: str, here: Here, words: list[str], sentence: str) -> None:
    assert here(*words).startswith(f"2 sheaf: {sentence}")
    assert not Path("files").exists() and not Path("gone.db").exists()


def test_a_database_of_others_is_left_as_it_was(tmp_path: Path) -> None:
    file = tmp_path / "holiday.db"
    with closing(sqlite3.connect(file)) as db:
        db.execute("CREATE TABLE picture (name TEXT)")
    before = file.read_bytes()
    run("main.py", "export", "files", "--graph", "sqlite:holiday.db", cwd=tmp_path)
    assert file.read_bytes() == before


# --- from Neo4j, and into it -------------------------------------------------------------------


def sorted_lines(folder: Path) -> dict[str, list[str]]:
    return {name: sorted(text.split("\n")) for name, text in contents(folder).items()}


def test_both_stores_give_the_same_files(empty_neo4j: AnyServer, tmp_path: Path) -> None:
    with closing(graph_in(empty_neo4j)) as graph:
        fill(graph)
    with closing(SqliteGraph(filled(tmp_path / "graph.db"))) as graph:
        export(graph, tmp_path / "from_sqlite", unseen)
    flags = ("from_neo4j", "--graph", empty_neo4j.url)
    done = run_with(empty_neo4j, "main.py", "export", *flags, cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert sorted_lines(tmp_path / "from_neo4j") == sorted_lines(tmp_path / "from_sqlite")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("loaded")


@pytest.fixture(scope="module")
def loaded(folder: Path) -> Iterator[Server]:
    """A server whose database was made from the files of an export."""
    filled(folder / "graph.db")
    done = run("main.py", "export", "files", "--graph", "sqlite:graph.db", cwd=folder)
    assert done.returncode == 0, done.stderr
    home = folder / "home"
    imported = script("import", folder / "files", "--home", home)
    if imported.returncode == CANNOT_BE_HAD:
        missing(imported.stderr.strip())
    assert imported.returncode == 0, imported.stdout + imported.stderr
    try:
        server = Server.start(home)
    except CannotBeHad as error:
        missing(str(error))
    yield server
    server.stop()


def test_an_imported_export_is_the_graph_to_the_last_property(loaded: Server, folder: Path) -> None:
    there = in_neo4j(loaded)
    assert there == in_sqlite(folder / "graph.db")
    assert {type(each["weight"]) for each in there["relation"]} == {float}
    assert {type(each["bytes"]) for each in there["media"]} == {int}


def test_the_schema_beside_the_files_is_what_a_harvest_would_make(
    loaded: Server, folder: Path
) -> None:
    for statement in (folder / "files" / "schema.cypher").read_text().splitlines():
        loaded.query(statement.rstrip(";"))
    made = loaded.query("SHOW INDEXES YIELD name WHERE name STARTS WITH 'sheaf_' RETURN name")
    assert {each["name"] for each in made} == TypedTexts(ALL_RELATIONS).create_schema.keys()
