"""Copying a graph into another one: everything arrives, nothing else changes, and it is proved."""

from __future__ import annotations

import json
import os
import socket
import sqlite3
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, suppress
from pathlib import Path
from threading import Thread
from typing import Any
from urllib.parse import urlsplit

import pytest

from main import main, tell_copied
from tests.command import records, run, start
from tests.conftest import AnyServer
from tests.neo4j_server import driver_for, rows
from tests.store_contract import (
    DOG_BARKS,
    DOG_IS_PET,
    DOG_MEDIA,
    SENSE,
    STRANGE,
    image,
    relation,
    write,
)
from tools.add import Counts, Entity, Graph, Media, unseen
from tools.copying import BATCH, arrived, copy
from tools.errors import Fatal
from tools.graphs import name_of, open_graph
from tools.graphs.sqlite import SqliteGraph

Contents = dict[str, list[dict[str, Any]]]
"""Entities, relations and media by their keys; what is null is absent."""

HOSTILE = "'}) DETACH DELETE n //"
HARD = f'a "quoted" word, \\ and \\", ü中😀\ntwo\r\nlines\t$x {{0}}; {HOSTILE} '
BARE = relation("IsA", "/c/en/tail", "/c/en/dog", 0.1, license=None, dataset=None)
EMPTY = relation("HasA", "/c/en/dog", "/c/en/tail", surface_text="", license="", dataset="")
TOLD = relation("CapableOf", "/c/en/dog", "/c/en/dog", 12.75, surface_text=HARD, dataset=HOSTILE)
# Few types: the server plans its queries anew for each of them.
RELATIONS = (DOG_IS_PET, DOG_BARKS, SENSE, STRANGE, BARE, EMPTY, TOLD)
LONELY = (
    Entity("/c/en/lonely", HARD, "en", "/c/en/lonely", ""),
    Entity("/c/en/nameless/n", "", "en", "/c/en/nameless", HARD),
)
SOUND = Media(
    "m/b'ark \\ 😀.ogg", "audio", "audio/ogg", "ff" * 32, 2**53 + 1, None, None, 1.5, None, "",
    HARD, None, None, None,
)  # fmt: skip
MEDIA = {
    "/c/en/dog": DOG_MEDIA,
    DOG_BARKS.uri: [image("m/z.gif", "visual"), image("m/a.gif", "visual"), SOUND],
    STRANGE.uri: [image("m/strange.png")],
}
COUNTS = Counts(9, 7, 7)


# --- what the tests of copy, export and clear share ------------------------------------------


def fill(graph: Graph) -> None:
    write(graph, *RELATIONS)
    graph.write(LONELY, ())
    graph.attach(MEDIA)


def filled(file: Path) -> Path:
    with closing(SqliteGraph(file)) as graph:
        fill(graph)
    return file


def ask(server: AnyServer, text: str, **parameters: object) -> list[dict[str, Any]]:
    with driver_for(server.url, server.password) as driver:
        return rows(driver, text, parameters, name_of(server.url))


def emptied(server: AnyServer) -> AnyServer:
    ask(server, "MATCH (n) DETACH DELETE n")
    return server


def graph_in(server: AnyServer) -> Graph:
    return open_graph(server.url, server.password)


def run_with(
    server: AnyServer, script: str, *arguments: object, cwd: Path, answers: str = ""
) -> subprocess.CompletedProcess[str]:
    return run(script, *arguments, cwd=cwd, answers=answers, SHEAF_NEO4J_PASSWORD=server.password)


def says(done: subprocess.CompletedProcess[str], exit_code: int) -> str:
    """The one sentence on stderr; there must be exactly one line and no traceback."""
    assert done.returncode == exit_code, (done.returncode, done.stdout, done.stderr)
    lines = done.stderr.splitlines()
    assert len(lines) == 1, done.stderr
    return lines[0]


def in_sqlite(file: Path) -> Contents:
    """As the tables have it, lists of media unpacked."""
    with closing(sqlite3.connect(f"file:{file}?mode=ro", uri=True)) as db:
        db.row_factory = sqlite3.Row
        return {
            table: [_present(row) for row in db.execute(f"SELECT * FROM {table} ORDER BY 1")]
            for table in ("entity", "relation", "media")
        }


def _present(row: sqlite3.Row) -> dict[str, Any]:
    lists = ("image", "audio", "visual")
    values = {key: row[key] for key in row.keys() if row[key] is not None}  # noqa: SIM118
    return {key: json.loads(each) if key in lists else each for key, each in values.items()}


def in_neo4j(server: AnyServer) -> Contents:
    """As the driver gives it, nothing of ours in between."""
    entities = ask(server, "MATCH (n:Entity) RETURN properties(n) AS p ORDER BY p.uri")
    media = ask(server, "MATCH (m:Media) RETURN properties(m) AS p ORDER BY p.path")
    relations = ask(
        server,
        """MATCH (a:Entity)-[r]->(b:Entity) RETURN properties(r) AS p,
        {type: type(r), start_uri: a.uri, end_uri: b.uri} AS more ORDER BY p.uri""",
    )
    return {
        "entity": [row["p"] for row in entities],
        "relation": [row["more"] | row["p"] for row in relations],
        "media": [row["p"] for row in media],
    }


def closed_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        return int(probe.getsockname()[1])


class Relay:
    """A server that is reached through it goes away when it is asked something with this text."""

    def __init__(self, server: AnyServer, text: bytes) -> None:
        parts = urlsplit(server.url)
        self._behind = (parts.hostname, parts.port or 7687)
        self._text = text
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"bolt://{parts.username or 'neo4j'}@127.0.0.1:{self._listener.getsockname()[1]}"
        self.url += f"/{name_of(server.url)}"
        self._stack = ExitStack()

    def __enter__(self) -> Relay:
        self._start(self._accept)
        return self

    def __exit__(self, *_: object) -> None:
        self._cut()

    def _start(self, work: Callable[..., None], *arguments: object) -> None:
        Thread(target=work, args=arguments, daemon=True).start()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client = self._listener.accept()[0]
                behind = socket.create_connection(self._behind)
                for each in (client, behind):
                    self._stack.callback(_hang_up, each)
                self._start(self._pass_on, client, behind, self._text)
                self._start(self._pass_on, behind, client, None)

    def _pass_on(self, one: socket.socket, other: socket.socket, text: bytes | None) -> None:
        with suppress(OSError):
            while said := one.recv(65536):
                if text is not None and text in said:
                    self._cut()
                    return
                other.sendall(said)

    def _cut(self) -> None:
        _hang_up(self._listener)
        self._stack.close()


def _hang_up(connection: socket.socket) -> None:
    with suppress(OSError):
        connection.shutdown(socket.SHUT_RDWR)
    connection.close()


Here = Callable[..., str]


def in_this_process(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> Iterator[Here]:
    """main.py without a process of its own: its exit code and its one sentence."""

    def run_here(*arguments: str) -> str:
        code, (_, said) = main(arguments), capfd.readouterr()
        assert len(said.splitlines()) == 1, said
        return f"{code} {said}"

    monkeypatch.chdir(folder)
    monkeypatch.delenv("SHEAF_NEO4J_PASSWORD", raising=False)
    umask = os.umask(0o077)
    yield run_here
    os.umask(umask)


# --- fixtures ----------------------------------------------------------------------------------


@pytest.fixture
def source(tmp_path: Path) -> Path:
    return filled(tmp_path / "source.db")


@pytest.fixture
def here(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> Iterator[Here]:
    yield from in_this_process(tmp_path, monkeypatch, capfd)


@pytest.fixture
def server(neo4j_server: AnyServer) -> Iterator[AnyServer]:
    yield emptied(neo4j_server)
    emptied(neo4j_server)


@pytest.fixture
def target(server: AnyServer) -> Iterator[Graph]:
    with closing(graph_in(server)) as graph:
        yield graph


# --- everything arrives ------------------------------------------------------------------------


def test_every_record_arrives_as_it_was_twice_and_comes_back(
    source: Path, server: AnyServer, tmp_path: Path
) -> None:
    before, back = in_sqlite(source), tmp_path / "back.db"
    for _ in range(2):
        flags = ("--from", f"sqlite:{source}", "--graph", server.url)
        done = run_with(server, "main.py", "copy", *flags, cwd=tmp_path)
        assert (done.returncode, done.stderr) == (0, "")
        assert done.stdout == f"{server.url} holds all of it: 9 entities, 7 relations, 7 media\n"
        assert in_neo4j(server) == before
    assert {type(each["weight"]) for each in in_neo4j(server)["relation"]} == {float}
    flags = ("--from", server.url, "--graph", f"sqlite:{back}")
    done = run_with(server, "main.py", "copy", *flags, cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert records(back) == records(source)
    assert in_sqlite(source) == before and in_neo4j(server) == before
    assert not (tmp_path / "state").exists()


def test_a_begun_copy_goes_on_and_the_target_keeps_what_it_held(
    source: Path, server: AnyServer, target: Graph
) -> None:
    foreign = "MATCH (a:Person)-[r:KNOWS]->(b) RETURN a.name, properties(r) AS r, labels(b), b.n"
    ask(server, "CREATE (:Person {name: 'Ada'})-[:KNOWS {since: 1833}]->(:Entity:Old {n: 1})")
    people = ask(server, foreign)
    other = relation("IsA", "/c/en/cat", "/c/en/other", 5.0)
    write(target, other)
    target.attach({other.uri: [image("m/other.png")]})
    with closing(SqliteGraph(source)) as graph:
        half = list(graph.entities())[::2], list(graph.relations())[::2]
    target.write(*half)  # and their media have not come yet
    with closing(SqliteGraph(source)) as graph:
        copy(graph, target, unseen)
    assert ask(server, foreign) == people
    assert target.neighbours("/c/en/cat") == [other]
    assert target.media_of([other.uri]) == {other.uri: [image("m/other.png")]}

    ask(server, "MATCH (n) WHERE n:Person OR n:Old DETACH DELETE n")
    ask(server, "MATCH (n:Entity) WHERE n.uri IN ['/c/en/cat', '/c/en/other'] DETACH DELETE n")
    ask(server, "MATCH (m:Media {path: 'm/other.png'}) DELETE m")
    assert in_neo4j(server) == in_sqlite(source)


def test_a_graph_larger_than_a_batch_is_copied_whole(tmp_path: Path) -> None:
    links = [relation("IsA", f"/c/en/{each}", "/c/en/hub") for each in range(BATCH + 1)]
    told: list[int] = []
    with (
        closing(SqliteGraph(tmp_path / "a.db")) as graph,
        closing(SqliteGraph(tmp_path / "b.db")) as target,
    ):
        write(graph, *links)
        graph.attach({links[-1].uri: [image("m/0.png")]})
        copy(graph, target, told.append)
        assert sum(told) == sum(graph.counts())
        assert arrived(graph, target, unseen) == graph.counts() == (BATCH + 2, BATCH + 1, 1)
    assert records(tmp_path / "b.db") == records(tmp_path / "a.db")


# --- what did not arrive is missed -------------------------------------------------------------


def test_what_is_missing_in_the_target_is_counted_and_told(
    source: Path, server: AnyServer, target: Graph
) -> None:
    with closing(SqliteGraph(source)) as graph:
        copy(graph, target, unseen)
        assert tell_copied(graph.counts(), arrived(graph, target, unseen), "it", True) == 0

        ask(server, "MATCH ()-[r {uri: $uri}]->() DELETE r", uri=STRANGE.uri)
        there = arrived(graph, target, unseen)
        assert there == COUNTS._replace(relations=6)
        with pytest.raises(Fatal) as caught:
            tell_copied(graph.counts(), there, "it", True)
        assert str(caught.value) == "it lacks 1 of 7 relations: start the same command again"
        assert caught.value.exit_code == 1

        ask(server, "MATCH (m:Media {path: 'm/a.gif'}) DELETE m")
        ask(server, "MATCH (n:Entity {uri: '/c/en/lonely'}) DELETE n")
        there = arrived(graph, target, unseen)
        assert there == Counts(8, 6, 6)
        with pytest.raises(Fatal, match="it lacks 1 of 9 entities, 1 of 7 relations, 1 of 7 media"):
            tell_copied(graph.counts(), there, "it", True)

        copy(graph, target, unseen)
        assert arrived(graph, target, unseen) == COUNTS


def test_a_record_that_does_not_arrive_ends_the_command_with_a_sentence(
    source: Path, tmp_path: Path
) -> None:
    target = tmp_path / "target.db"
    with closing(SqliteGraph(target)):
        pass
    with closing(sqlite3.connect(target)) as db:
        db.executescript(
            """CREATE TRIGGER thief BEFORE INSERT ON relation WHEN NEW.type = 'CapableOf'
            BEGIN SELECT RAISE(IGNORE); END"""
        )
    done = run(
        "main.py", "copy", "--from", f"sqlite:{source}", "--graph", f"sqlite:{target}", cwd=tmp_path
    )
    assert says(done, 1).startswith(f"sheaf: sqlite:{target} lacks 2 of 7 relations: ")
    assert done.stdout == ""


# --- what cannot be copied ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("flags", "sentence"),
    [
        (["--from", "sqlite:gone.db", "--graph", "sqlite:b.db"], "no graph at sqlite:gone.db"),
        (["--graph", "sqlite:b.db"], "copy needs two graphs: --from "),
        (["--from", "sqlite:source.db"], "copy needs two graphs: --from "),
        (["--from", "sqlite:source.db", "--graph", "sqlite:source.db"], "these are the same"),
        (["--from", "sqlite:source.db", "--graph", "mysql://b"], "neo4j://user@host:7687"),
        (["--from", "sqlite:source.db", "--graph", "neo4j://me:hunter2@b"], "SHEAF_NEO4J_PASSWORD"),
        (["into", "--from", "sqlite:source.db", "--graph", "sqlite:b.db"], "no further argument"),
    ],
)
def test_wrong_arguments_are_refused_with_a_sentence(
    source: Path, here: Here, flags: list[str], sentence: str
) -> None:
    told = here("copy", *flags)
    assert told.startswith("2 sheaf: ") and sentence in told
    assert "hunter2" not in told
    assert [path.name for path in Path().iterdir() if "-" not in path.name] == ["source.db"]


@pytest.mark.parametrize("side", ["--from", "--graph"])
def test_a_server_that_does_not_answer_is_named_soon(
    source: Path, tmp_path: Path, side: str
) -> None:
    url = f"neo4j://neo4j@127.0.0.1:{closed_port()}"
    other = "--graph" if side == "--from" else "--from"
    begun = time.monotonic()
    done = run("main.py", "copy", side, url, other, f"sqlite:{source}", cwd=tmp_path)
    assert time.monotonic() - begun < 10
    assert url.replace("neo4j@", "") in says(done, 3)


def test_a_wrong_password_is_told_without_showing_it(
    source: Path, server: AnyServer, tmp_path: Path
) -> None:
    flags = ("--from", f"sqlite:{source}", "--graph", server.url)
    done = run("main.py", "copy", *flags, cwd=tmp_path, SHEAF_NEO4J_PASSWORD="hunter22")
    told = says(done, 3)
    assert "refuses the user 'neo4j'" in told and "SHEAF_NEO4J_PASSWORD" in told
    assert "hunter22" not in told


def test_a_server_that_goes_away_is_told_in_a_sentence(
    server: AnyServer, target: Graph, tmp_path: Path
) -> None:
    """Each time at another moment; together, because each tries for seconds to reach it again."""
    write(target, DOG_IS_PET)
    copy_to = ("copy", "--graph", f"sqlite:{tmp_path / 'target.db'}", "--from")
    moments = {
        "copy counts": (b"RETURN count(n)", copy_to),
        "copy reads": (b"ORDER BY", copy_to),
        "export reads": (b"ORDER BY", ("export", tmp_path / "files", "--graph")),
    }
    with ExitStack() as stack:
        begun = {}
        for name, (text, words) in moments.items():
            relay = stack.enter_context(Relay(server, text))
            url, password = relay.url, server.password
            begun[name] = start("main.py", *words, url, SHEAF_NEO4J_PASSWORD=password)
            stack.callback(begun[name].kill)
        ended = {
            name: (each.communicate(timeout=60), each.returncode) for name, each in begun.items()
        }
    for name, ((_, said), code) in ended.items():
        assert code == 3, (name, said)
        assert "cannot be reached" in said and len(said.splitlines()) == 1, (name, said)
    assert not (tmp_path / "files").exists()


def test_an_index_of_others_on_the_same_property_is_told_in_a_sentence(
    source: Path, server: AnyServer, tmp_path: Path
) -> None:
    """Neo4j makes no constraint where somebody has an index already."""
    ask(server, "DROP CONSTRAINT sheaf_media_path IF EXISTS")
    ask(server, "CREATE INDEX theirs FOR (m:Media) ON (m.path)")
    try:
        flags = ("--from", f"sqlite:{source}", "--graph", server.url)
        done = run_with(server, "main.py", "copy", *flags, cwd=tmp_path)
    finally:
        ask(server, "DROP INDEX theirs")
    assert done.returncode != 0
    assert "already exists an index (:Media {path})" in says(done, done.returncode)


# --- a harvest does not go on into a graph that lacks its beginning ----------------------------


def harvest(folder: Path, graph: Path, limit: int) -> subprocess.CompletedProcess[str]:
    flags = ("--state", folder / "state", "--graph", f"sqlite:{graph}", "--limit", limit)
    return run("main.py", "--sample", "-q", *flags, cwd=folder)


def refusal(folder: Path, graph: Path) -> str:
    """A log line before it may tell that the graph is another one."""
    done = harvest(folder, graph, 10)
    assert done.returncode == 2, done.stderr
    assert "Traceback" not in done.stderr
    return done.stderr.splitlines()[-1]


def test_a_harvest_goes_on_in_another_graph_only_after_it_was_copied(tmp_path: Path) -> None:
    a, b = tmp_path / "a.db", tmp_path / "b.db"
    assert harvest(tmp_path, a, 5).returncode == 0
    begun = records(a)
    assert begun["relation"]
    command = f"copy --from sqlite:{a} --graph sqlite:{b}"
    assert f"main.py {command}" in refusal(tmp_path, b)

    copied = run("main.py", *command.split(), cwd=tmp_path)
    assert copied.returncode == 0, copied.stderr
    assert records(b) == begun
    done = harvest(tmp_path, b, 10)
    assert done.returncode == 0, done.stderr
    assert records(a) == begun
    assert {row[0] for row in records(b)["relation"]} > {row[0] for row in begun["relation"]}


def test_the_graph_to_copy_is_the_one_the_harvest_went_into_last(tmp_path: Path) -> None:
    a, b, c = (tmp_path / name for name in ("a.db", "b.db", "c.db"))
    assert harvest(tmp_path, a, 1).returncode == 0
    with closing(SqliteGraph(a)) as old, closing(SqliteGraph(b)) as new:
        copy(old, new, unseen)
    assert harvest(tmp_path, b, 2).returncode == 0
    assert f"main.py copy --from sqlite:{b} --graph sqlite:{c}" in refusal(tmp_path, c)
