"""scripts/neo4j against real servers. They take seconds to start, so tests share one."""

from __future__ import annotations

import json
import os
import shutil
import socket
import stat
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.neo4j_server import CANNOT_BE_HAD, Server, script
from tests.support.ports import free_port


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def says(done: subprocess.CompletedProcess[str], exit_code: int) -> str:
    assert done.returncode == exit_code, (done.returncode, done.stdout, done.stderr)
    assert "Traceback" not in done.stderr
    return done.stderr


# --- a server's life -------------------------------------------------------------------------


def test_it_runs_and_tells_where(own_neo4j: Server) -> None:
    assert own_neo4j.query("RETURN 1 AS one") == [{"one": 1}]
    facts = own_neo4j.status()
    assert facts["home"] == str(own_neo4j.home)
    assert facts["password_file"] == str(own_neo4j.home / "password")
    assert facts["origin"] in ("installation", "docker", "jars")
    told = script("status", "--home", own_neo4j.home)
    assert told.returncode == 0
    assert own_neo4j.url in told.stdout


def test_a_second_start_finds_the_first(own_neo4j: Server) -> None:
    before = own_neo4j.status()
    lines = own_neo4j.launch().stdout.splitlines()
    assert own_neo4j.status() == before
    assert own_neo4j.url in lines[0] and "already" in lines[0]
    assert lines[1].endswith(str(own_neo4j.home / "password"))
    assert f"--graph {own_neo4j.url}" in lines[2]


def test_only_its_owner_can_read_it(own_neo4j: Server) -> None:
    assert mode(own_neo4j.home) == 0o700
    for name in ("password", "server.json"):
        assert mode(own_neo4j.home / name) == 0o600, name
    assert len(own_neo4j.password) >= 32
    assert not list(own_neo4j.home.glob("*.argument*"))


def test_its_port_is_refused_to_another_home(own_neo4j: Server, tmp_path: Path) -> None:
    port = own_neo4j.url.rpartition(":")[2]
    sentence = says(script("start", "--home", tmp_path / "home", "--port", port), 1)
    assert f"port {port} is taken" in sentence


def bare(folder: Path) -> dict[str, str]:
    """A computer that has no server to offer."""
    return {"PATH": str(folder), "JAVA_HOME": "", "NEO4J_HOME": ""}


def test_a_port_that_is_being_closed_is_waited_for(tmp_path: Path) -> None:
    """As that of a server that was killed a moment ago: it has no command line any more."""
    with socket.create_server(("127.0.0.1", free_port())) as closing:
        port = closing.getsockname()[1]

        def close_once_asked() -> None:
            asking, _ = closing.accept()
            closing.close()
            asking.close()

        thread = threading.Thread(target=close_once_asked, daemon=True)
        thread.start()
        done = script("start", "--home", tmp_path / "home", "--port", port, **bare(tmp_path))
        thread.join(10)
    says(done, CANNOT_BE_HAD)


def test_an_import_is_refused_while_it_runs(own_neo4j: Server, export: Path) -> None:
    assert "stop it first" in says(script("import", export, "--home", own_neo4j.home), 2)


def test_it_keeps_its_data(own_neo4j: Server) -> None:
    own_neo4j.query("CREATE (:Kept {text: 'across a stop'})")
    assert "has ended" in own_neo4j.stop().stdout
    assert own_neo4j.status()["pid"] is None
    assert script("status", "--home", own_neo4j.home).returncode == 3
    assert "no Neo4j runs" in own_neo4j.stop().stdout
    own_neo4j.restart()
    assert own_neo4j.query("MATCH (n:Kept) RETURN n.text") == [{"n.text": "across a stop"}]


def test_it_survives_being_killed(own_neo4j: Server) -> None:
    own_neo4j.query("CREATE (:Killed {text: 'committed'})")
    own_neo4j.kill()
    own_neo4j.restart()
    assert own_neo4j.query("MATCH (n:Killed) RETURN n.text") == [{"n.text": "committed"}]


# --- what must not happen --------------------------------------------------------------------


def test_another_process_with_its_number_is_left_alone(tmp_path: Path) -> None:
    """After a crash the number in the home may have been given to anybody."""
    home = tmp_path / "home"
    home.mkdir()
    (home / "sheaf.lock").touch()
    with subprocess.Popen([sys.executable, "-c", "input()", home], stdin=subprocess.PIPE) as other:
        record = {"kind": "jars", "version": "5.26.26", "port": 7687, "pid": other.pid}
        (home / "server.json").write_text(json.dumps(record))
        assert script("status", "--home", home).returncode == 3
        assert "no Neo4j runs" in script("stop", "--home", home).stdout
        assert other.poll() is None
        other.communicate(b"\n")
    assert other.returncode == 0


def test_a_folder_of_somebody_else_is_refused(tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").write_text("mine")
    tmp_path.chmod(0o755)
    assert "not made by this script" in says(script("start", "--home", tmp_path), 2)
    assert mode(tmp_path) == 0o755
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.txt"]


@pytest.mark.parametrize(
    "arguments",
    [
        ["restart"],
        ["start", "--port", "70000"],
        ["start", "--port", "-1"],
        ["start", "--heap", "much"],
        ["start", "--set", "no-equals-sign"],
        ["start", "--set", "server.bolt.listen_address=0.0.0.0:7687"],
        ["start", "--from", "thin-air"],
        ["import"],
    ],
)
def test_wrong_arguments_are_refused(arguments: list[str], tmp_path: Path) -> None:
    home = tmp_path / "home"
    says(script(arguments[0], "--home", home, *arguments[1:]), 2)
    assert not home.exists()


def test_a_password_that_neo4j_would_refuse_is_refused(any_server: None, tmp_path: Path) -> None:
    home = tmp_path / "home"
    done = script("start", "--home", home, "--port", 0, SHEAF_NEO4J_PASSWORD="short")
    assert "at least 8 characters" in says(done, 2)
    assert not (home / "password").exists()


def test_a_setting_that_does_not_exist_is_named(any_server: None, tmp_path: Path) -> None:
    done = script("start", "--home", tmp_path / "home", "--port", 0, "--set", "server.nonsense=1")
    assert "server.nonsense" in says(done, 1)
    assert script("status", "--home", tmp_path / "home").returncode == 3


def test_without_java_and_docker_it_says_what_to_install(tmp_path: Path) -> None:
    done = script("start", "--home", tmp_path / "home", "--port", 0, **bare(tmp_path))
    sentence = says(done, 4)
    assert "install Java 17 or 21 and Maven, or Docker" in sentence
    assert len(sentence.splitlines()) == 1


def test_an_interrupted_download_is_not_used(tmp_path: Path) -> None:
    """Maven is missing here, so a folder that only began to be filled must not help."""
    java = fake_command(tmp_path / "bin/java", "echo 'openjdk version \"17.0.1\"' >&2")
    part = tmp_path / "cache/sheaf/neo4j-5.26.26.part"
    part.mkdir(parents=True)
    (part / "neo4j-5.26.26.jar").touch()
    places = {"PATH": str(java.parent), "JAVA_HOME": "", "XDG_CACHE_HOME": str(tmp_path / "cache")}
    done = script("start", "--home", tmp_path / "home", "--port", 0, "--from", "jars", **places)
    assert "Maven (mvn) is not installed" in says(done, 4)


# --- import ----------------------------------------------------------------------------------

ENTITIES_HEADER = (
    "uri:ID(Entity),name,language,term,sense,image:string[],audio:string[],visual:string[],:LABEL"
)
MEDIA_HEADER = (
    "path:ID(Media),owner,kind,mime,sha256,bytes:long,width:long,height:long,duration:double,"
    "license,license_url,author,page,source,provider,:LABEL"
)
RELATIONS_HEADER = (
    ":START_ID(Entity),:END_ID(Entity),:TYPE,uri,weight:double,surfaceText,license,dataset,"
    "image:string[],audio:string[],visual:string[]"
)
HARD = 'a "quoted" word, a \\ backslash,\na new line; a semicolon, \U0001f436 and \u00e9\u4e2d \\"'


def csv_line(*fields: str | None) -> str:
    """None is an empty field; a text stands in quotes, with its own quotes doubled."""
    written = ("" if field is None else '"' + field.replace('"', '""') + '"' for field in fields)
    return ",".join(written) + "\n"


@pytest.fixture
def export(tmp_path: Path) -> Path:
    return write_export(tmp_path)


def write_export(place: Path) -> Path:
    """A folder whose very name would confuse the import tool."""
    folder = place / "export [1], the first"
    folder.mkdir()
    dog = csv_line("/c/en/dog", HARD, "en", "dog", None, "a.png\x1fb;c.png", None, None, "Entity")
    cat = csv_line("/c/en/cat", "", "en", "cat", "n", None, None, None, "Entity")
    medium = ["a.png", "/c/en/dog", "image", "image/png", "00", "9007199254740993", "1", "2", None]
    relation = ["/c/en/dog", "/c/en/cat", "IsA", "/a/1", "2.5", None, "", "/d/x", "a.png"]
    contents = {
        "entities-header.csv": ENTITIES_HEADER + "\n",
        "entities.csv": dog + cat,
        "media-header.csv": MEDIA_HEADER + "\n",
        "media.csv": csv_line(*medium, *[None] * 6, "Media"),
        "relations-header.csv": RELATIONS_HEADER + "\n",
        "relations.csv": csv_line(*relation, None, None),
    }
    for name, text in contents.items():
        (folder / name).write_text(text, encoding="utf-8", newline="")
    return folder


@pytest.fixture(scope="module")
def installation(own_neo4j: Server, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """NEO4J_HOME with the downloaded jars in its lib; as it is where none were downloaded."""
    facts = own_neo4j.status()
    if facts["origin"] != "jars":
        return {}
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    home = tmp_path_factory.mktemp("installed")
    (home / "lib").symlink_to(cache / f"sheaf/neo4j-{facts['version']}")
    return {"NEO4J_HOME": str(home)}


@pytest.fixture
def any_server(own_neo4j: Server) -> None:
    """Skips where no server can be had."""


@pytest.fixture(scope="module")
def imported(
    installation: dict[str, str], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Server]:
    """Holds the export, and perhaps what tests have added to it."""
    place = tmp_path_factory.mktemp("imported")
    export, home = write_export(place), place / "loaded"
    done = script("import", export, "--home", home, **installation)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "already" in says(script("import", export, "--home", home, **installation), 2)
    assert not (export / "import.report").exists()
    server = Server.start(home, installation)
    yield server
    server.stop()


def test_an_export_is_loaded_into_an_installed_server(
    imported: Server, installation: dict[str, str]
) -> None:
    assert not installation or imported.status()["origin"] == "installation"
    entities = {row["e"]["uri"]: row["e"] for row in imported.query("MATCH (e:Entity) RETURN e")}
    assert entities["/c/en/dog"] == {
        "uri": "/c/en/dog",
        "name": HARD,
        "language": "en",
        "term": "dog",
        "image": ["a.png", "b;c.png"],
    }
    assert entities["/c/en/cat"]["name"] == ""
    [medium] = imported.query("MATCH (m:Media) RETURN m.bytes, m.duration, m.path")
    assert medium == {"m.bytes": 9007199254740993, "m.duration": None, "m.path": "a.png"}
    wanted = "MATCH (a)-[r:IsA]->(b) RETURN a.uri, b.uri, properties(r) AS r"
    assert imported.query(wanted) == [
        {
            "a.uri": "/c/en/dog",
            "b.uri": "/c/en/cat",
            "r": {
                "uri": "/a/1",
                "weight": 2.5,
                "license": "",
                "dataset": "/d/x",
                "image": ["a.png"],
            },
        }
    ]


def test_a_folder_that_is_no_export_is_refused(tmp_path: Path) -> None:
    (tmp_path / "entities.csv").touch()
    sentence = says(script("import", tmp_path, "--home", tmp_path / "home"), 2)
    assert "lacks entities-header.csv, media-header.csv" in sentence
    assert not (tmp_path / "home").exists()


def grown(export: Path, name: str, text: str) -> None:
    with (export / name).open("a", encoding="utf-8", newline="") as file:
        file.write(text)


DANGLING = csv_line("/c/en/dog", "/c/en/gone", "IsA", "/a/2", "1.0", *[None] * 6)
BROKEN = {
    "a relation without its end": ("relations.csv", DANGLING, "/c/en/gone"),
    "half a line": ("relations.csv", DANGLING[:20], "relations.csv is cut short"),
    "a line of few fields": ("media.csv", csv_line("a", "b"), "media.csv is cut short"),
    "a quote that stays open": ("entities.csv", '"x\n', "entities.csv is cut short"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_an_export_that_is_not_whole_is_refused_before_anything_is_done(
    export: Path, tmp_path: Path, name: str
) -> None:
    file, text, reason = BROKEN[name]
    grown(export, file, text)
    sentence = says(script("import", export, "--home", tmp_path / "home"), 2)
    assert reason in sentence and "Nothing was changed" in sentence
    assert len(sentence.splitlines()) == 1
    assert not (tmp_path / "home").exists()


def test_a_failed_import_leaves_the_old_database_and_a_good_one_replaces_it(
    imported: Server, export: Path, installation: dict[str, str]
) -> None:
    imported.query("CREATE (:Old)")
    [before] = imported.query("MATCH (n) RETURN count(n) AS n")
    imported.stop()
    entities = (export / "entities.csv").read_text()
    grown(export, "entities.csv", entities)  # the tool refuses what is there twice
    flags = ("--overwrite", "--home", imported.home)
    done = script("import", export, *flags, **installation)
    assert "What was there before is as it was" in says(done, 1)
    assert not (imported.home / "import.part").exists()
    imported.launch()
    assert imported.query("MATCH (n) RETURN count(n) AS n") == [before]

    imported.stop()
    (export / "entities.csv").write_text(entities, newline="")
    assert script("import", export, *flags, **installation).returncode == 0
    assert not (imported.home / "data/imported").exists()
    imported.launch()
    assert imported.query("MATCH (n) RETURN count(n) AS n") == [{"n": 3}]


def test_a_swap_that_was_interrupted_is_completed_at_the_next_start(
    imported: Server,
) -> None:
    """Killed between its two halves."""
    imported.query("CREATE (:New)")
    imported.stop()
    data = imported.home / "data"
    (data / "imported/databases").mkdir(parents=True)
    (data / "databases/neo4j").rename(data / "imported/databases/neo4j")
    shutil.copytree(data / "databases/system", data / "databases/neo4j")  # some old one
    imported.launch()
    assert imported.query("MATCH (n:New) RETURN count(n) AS n") == [{"n": 1}]
    assert not (data / "imported").exists()


def test_admin_passes_everything_through(any_server: None, tmp_path: Path) -> None:
    done = script("admin", "--home", tmp_path / "home", "database", "import", "full", "--help")
    assert done.returncode == 0
    assert "--array-delimiter" in done.stdout
    assert script("admin", "--home", tmp_path / "home", "no-such-command").returncode not in (0, 4)


# --- Docker ----------------------------------------------------------------------------------
# The one part that is not real: a stand-in writes down how it was called. It tells that the
# password stays off the command line and the port on loopback, not that the image starts.

STAND_IN = """
printf '%s\\n' "$*" >> {folder}/calls
[ "$1" = run ] || exit 0
cp -p {folder}/home/docker.env {folder}/environment
exit 9
"""


def fake_command(path: Path, body: str) -> Path:
    path.parent.mkdir(exist_ok=True)
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(0o755)
    return path


def test_docker_gets_the_password_by_file_and_a_port_on_loopback(tmp_path: Path) -> None:
    home = tmp_path / "home"
    docker = fake_command(tmp_path / "bin/docker", STAND_IN.format(folder=tmp_path))
    path = {"PATH": f"{docker.parent}:/usr/bin:/bin"}
    port = free_port()
    flags = ["--home", home, "--port", port, "--from", "docker", "--set", "db.format=aligned"]
    assert "docker run failed" in says(script("start", *flags, **path), 1)
    password = (home / "password").read_text()
    calls = (tmp_path / "calls").read_text()
    assert f"--name sheaf-neo4j-{port}" in calls
    assert f"--publish 127.0.0.1:{port}:7687 --env-file {home}/docker.env" in calls
    assert f"source={home}/data,target=/data" in calls
    assert calls.rstrip().endswith("neo4j:5.26-community")
    assert password not in calls
    environment = (tmp_path / "environment").read_text().splitlines()
    assert f"NEO4J_AUTH=neo4j/{password}" in environment
    assert "NEO4J_db_format=aligned" in environment
    assert "NEO4J_server_memory_heap_max__size=512m" in environment
    assert mode(tmp_path / "environment") == 0o600
    assert not (home / "docker.env").exists()
