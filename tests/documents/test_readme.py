"""What the documents show works, on the sample."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from neo4j import Driver

from tests.support.command import ROOT, clean_environment, run
from tests.support.examples import DOCUMENTS, README, blocks, commands, examples
from tests.support.graph_world import in_neo4j, in_sqlite
from tests.support.needs import missing
from tests.support.neo4j_server import (
    CANNOT_BE_HAD,
    QUICK_END,
    QUICK_START,
    AnyServer,
    ask,
    database_of,
    driver_for,
    emptied,
    rows,
    run_with,
    script,
)
from tests.support.ports import free_port
from tools.add import Graph, Media
from tools.commands.parsing import Parser, parsed
from tools.commands.verbs import VERBS, overview
from tools.conceptnet.graph import open_graph

TEXT = README.read_text(encoding="utf-8")
CYPHER = examples("cypher")
SQL = examples("sql")

Rows = list[list[Any]]
Ask = Callable[[str], Rows]

BY_NAME = "A concept by its name; its senses share the name, so there may be several"
BEGINS = "What begins at a name"
ENDS = "What ends at a name, of one type"
BETWEEN = "What there is between two names, in either direction"
WITH_IMAGES = "How many concepts have images"
ORIGINAL_FORM = "How many concepts have images, written in another way"
BY_ID = "One concept, by the id that the server gave it"
BY_NUMBER = "One concept, by the number that the server gave it"
ONLY_IN_NEO4J = {BY_ID, BY_NUMBER}  # rows of the embedded graph have no other key than the URI
PATHS = "All paths of up to 3 relations between two names, the longest first"
SHORTEST = "A shortest path of up to 10 relations that avoids some types"
MEDIA = "The media of a concept, with licence and author"
OF_RELATION = "The media of a relation, with licence and author"
AVOIDED = {"HasContext", "SimilarTo", "DistinctFrom", "IsA"}

DOG, CAT = "/c/en/dog", "/c/en/cat"
DOG_CAN_BARK = "/a/[/r/CapableOf/,/c/en/dog/,/c/en/bark/]"
CREDITS = (
    "CC BY 4.0",
    "https://creativecommons.org/licenses/by/4.0/",
    'Zoë "Z" O\'Neil',
    "https://example.org/page",
)

# Looked up by hand in tools/sample/world.tsv: how many answers, and some or all of them.
FACTS: dict[str, tuple[int | None, Rows]] = {
    BY_NAME: (
        4,
        [
            ["/c/en/bark", None],
            ["/c/en/bark/n/wn/plant", "n/wn/plant"],
            ["/c/en/bark/n/wn/sound", "n/wn/sound"],
            ["/c/en/bark/v", "v"],
        ],
    ),
    BEGINS: (
        None,
        [
            [DOG, "CapableOf", "/c/en/dig_holes", 4.472],
            [DOG, "IsA", "/c/en/pet", 2.828],
            [DOG, "CapableOf", "/c/en/bark/v", 1.0],
            [DOG, "DistinctFrom", CAT, 1.0],
        ],
    ),
    ENDS: (2, [[DOG, CAT, 1.0], ["/c/en/catfish", CAT, 1.0]]),
    BETWEEN: (
        3,
        [
            ["/c/en/house", "HasA", "/c/en/kitchen", 1.0],
            ["/c/en/kitchen", "PartOf", "/c/en/house", 1.0],
            ["/c/en/kitchen/n", "AtLocation", "/c/en/house", 1.0],
        ],
    ),
    WITH_IMAGES: (1, [[1]]),
    ORIGINAL_FORM: (1, [[1]]),
    BY_ID: (1, [["/c/en/bark/v", "bark"]]),
    BY_NUMBER: (1, [["/c/en/bark/v", "bark"]]),
    PATHS: (
        6,
        [
            [["flea", "dog", "mammal", "wolf"], ["AtLocation", "IsA", "IsA"]],
            [["flea", "bite", "dog", "wolf"], ["CapableOf", "CapableOf", "SimilarTo"]],
            [["flea", "dog", "wolf"], ["AtLocation", "SimilarTo"]],
            [["flea", "dog", "wolf"], ["AtLocation", "DistinctFrom"]],
        ],
    ),
    SHORTEST: (
        1,
        [
            [
                ["dog", "swim", "heat", "fire", "lightning", "thunder"],
                ["CapableOf", "CausesDesire", "Causes", "Causes", "Causes"],
            ]
        ],
    ),
    MEDIA: (3, [[f"m/en/dog/0.{form}", *CREDITS] for form in ("jpg", "mp3", "gif")]),
    OF_RELATION: (3, [[f"m/en/dog_bark/0.{form}", *CREDITS] for form in ("jpg", "mp3", "gif")]),
}


def media(folder: str, *kinds: str) -> list[Media]:
    forms = {
        "image": (".jpg", "image/jpeg"),
        "audio": (".mp3", "audio/mpeg"),
        "visual": (".gif", "image/gif"),
    }
    return [
        Media(
            path=f"{folder}/0{forms[kind][0]}",
            kind=kind,
            mime=forms[kind][1],
            sha256="0" * 64,
            bytes=1,
            width=1,
            height=1,
            duration=1.0,
            license=CREDITS[0],
            license_url=CREDITS[1],
            author=CREDITS[2],
            page=CREDITS[3],
            source="https://example.org/file",
            provider="tests",
            title="A title",
            phash="0" * 16,
            time="2026-01-01T00:00:00Z",
            remark="a remark",
        )
        for kind in kinds
    ]


def attach_media(graph: Graph) -> None:
    """As a harvest with media would: a cat that is only heard has no image."""
    owners = {
        DOG: media("m/en/dog", "image", "audio", "visual"),
        CAT: media("m/en/cat", "audio"),
        DOG_CAN_BARK: media("m/en/dog_bark", "image", "audio", "visual"),
    }
    graph.attach(owners)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the sample was harvested; with few media, so that the answers can be known."""
    folder = tmp_path_factory.mktemp("readme")
    done = run("main.py", "--sample", "--no-media", "-q", "--state", folder / "state")
    assert done.returncode == 0, done.stderr
    with closing(open_graph(f"sqlite:{folder / 'state/graph.db'}")) as graph:
        attach_media(graph)
    return folder


@pytest.fixture(scope="module")
def ask_sqlite(folder: Path) -> Iterator[Ask]:
    with closing(sqlite3.connect(folder / "state/graph.db")) as db:
        yield lambda query: [[plain(value) for value in row] for row in db.execute(query)]


def plain(value: Any) -> Any:
    """SQLite has lists as JSON."""
    return json.loads(value) if isinstance(value, str) and value.startswith("[") else value


@pytest.fixture(scope="module")
def sample_server(neo4j_server: AnyServer, folder: Path) -> AnyServer:
    """The same in Neo4j, brought there as the README says."""
    server = emptied(neo4j_server)
    flags = ("--from", "sqlite:state/graph.db", "--graph", server.url)
    done = run_with(server, "main.py", "copy", *flags, cwd=folder, seconds=600)
    assert done.returncode == 0, done.stderr
    with driver_for(server.url, server.password) as driver:
        # The planner should know what was copied a moment ago.
        rows(driver, "CALL db.prepareForReplanning(60)", database=database_of(server))
    return server


@pytest.fixture(scope="module")
def driver(sample_server: AnyServer) -> Iterator[Driver]:
    with driver_for(sample_server.url, sample_server.password) as driver:
        yield driver


@pytest.fixture(scope="module")
def ask_neo4j(driver: Driver, sample_server: AnyServer) -> Ask:
    database = database_of(sample_server)
    return lambda query: [list(row.values()) for row in rows(driver, query, database=database)]


# --- every query -------------------------------------------------------------------------------


def in_any_order(answer: Rows) -> Rows:
    return sorted(answer, key=repr)


def check_facts(title: str, answer: Rows) -> None:
    number, facts = FACTS.get(title, (None, []))
    assert answer
    assert number in (None, len(answer)), answer
    assert [fact for fact in facts if fact not in answer] == []


@pytest.mark.parametrize("title", SQL)
def test_every_sql_query_finds_what_is_there(ask_sqlite: Ask, title: str) -> None:
    check_facts(title, ask_sqlite(SQL[title].query))


@pytest.mark.parametrize("title", CYPHER)
def test_every_cypher_query_finds_what_is_there(ask_neo4j: Ask, title: str) -> None:
    check_facts(title, ask_neo4j(CYPHER[title].query))


@pytest.mark.parametrize("title", SQL)
def test_both_graphs_give_the_same_answer(ask_neo4j: Ask, ask_sqlite: Ask, title: str) -> None:
    cypher, sql = ask_neo4j(CYPHER[title].query), ask_sqlite(SQL[title].query)
    assert in_any_order(cypher) == in_any_order(sql)


def test_both_graphs_hold_the_same_records(sample_server: AnyServer, folder: Path) -> None:
    """And Neo4j nothing else, but whose it is."""
    expected = in_sqlite(folder / "state/graph.db")
    assert len(expected["relation"]) > 5 and len(expected["media"]) == 7
    assert in_neo4j(sample_server) == expected
    others = "MATCH (n) WHERE NOT labels(n) IN [['Entity'], ['Media'], ['SheafHarvest']] RETURN n"
    assert not ask(sample_server, others)
    assert not ask(sample_server, "MATCH (:Media)-[r]-() RETURN r")


def test_every_query_is_there_in_both_languages() -> None:
    assert CYPHER.keys() - ONLY_IN_NEO4J == SQL.keys()
    assert FACTS.keys() <= CYPHER.keys()


def with_names(query: str, *names: str) -> str:
    """The same query for others. The names are told apart by their order in the alphabet: SQL finds
    a shortest path from its end."""
    old = re.findall(r"name(?:: | = )'([^']+)'", query)
    wanted = dict(zip(sorted(old), names, strict=True))
    return re.sub(r"(name(?:: | = ))'([^']+)'", lambda m: f"{m[1]}'{wanted[m[2]]}'", query)


# Ways back over another relation, several relations between the same two, names of many senses.
@pytest.mark.parametrize("names", [("dog", "cat"), ("house", "kitchen"), ("bark", "tree")])
def test_paths_are_the_same_between_other_names(
    ask_neo4j: Ask, ask_sqlite: Ask, names: tuple[str, str]
) -> None:
    cypher = ask_neo4j(with_names(CYPHER[PATHS].query, *names))
    sql = ask_sqlite(with_names(SQL[PATHS].query, *names))
    assert cypher
    assert in_any_order(cypher) == in_any_order(sql)


@pytest.mark.parametrize(
    ("names", "length"),
    [(("dog", "kitchen"), 3), (("kitchen", "house"), 1), (("dog", "twenty one"), None)],
)
def test_shortest_paths_are_as_long_between_other_names(
    ask_neo4j: Ask, ask_sqlite: Ask, names: tuple[str, str], length: int | None
) -> None:
    """Which of several shortest ones is found nobody promises."""
    cypher = ask_neo4j(with_names(CYPHER[SHORTEST].query, *names))
    sql = ask_sqlite(with_names(SQL[SHORTEST].query, *names))
    assert [len(types) for _, types in cypher] == ([] if length is None else [length])
    assert [len(types) for _, types in sql] == ([] if length is None else [length])
    for nodes, types in cypher + sql:
        assert (nodes[0], nodes[-1]) == names
        assert not AVOIDED.intersection(types)


def test_answers_come_in_the_order_that_is_promised(ask_sqlite: Ask, ask_neo4j: Ask) -> None:
    for answer in (ask_neo4j(CYPHER[BEGINS].query), ask_sqlite(SQL[BEGINS].query)):
        weights = [weight for *_, weight in answer]
        assert weights == sorted(weights, reverse=True)
    for answer in (ask_neo4j(CYPHER[PATHS].query), ask_sqlite(SQL[PATHS].query)):
        lengths = [len(types) for _, types in answer]
        assert lengths == [3, 3, 3, 3, 2, 2]


@pytest.mark.parametrize(
    "title", [title for title, (_, query) in CYPHER.items() if re.search("{(name|uri):", query)]
)
def test_cypher_looks_names_up_in_the_index(
    driver: Driver, sample_server: AnyServer, title: str
) -> None:
    with driver.session(database=database_of(sample_server)) as session:
        plan = session.run(f"EXPLAIN {CYPHER[title].query}").consume().plan
    assert plan is not None
    steps = operators(plan)
    assert any("IndexSeek" in each for each in steps), steps
    scans = [each for each in steps if "Scan" in each]
    # There are so few media here that the planner may well look through them.
    assert [each for each in scans if ":Media" not in each] == []


def operators(plan: dict[str, Any]) -> list[str]:
    below = (operators(each) for each in plan.get("children", []))
    what = plan.get("args", {}).get("Details", "")
    return [f"{plan['operatorType']} {what}", *(each for steps in below for each in steps)]


@pytest.mark.parametrize(
    "title", [title for title, (_, query) in SQL.items() if re.search("(name|uri) = '", query)]
)
def test_sql_looks_names_up_in_the_index(ask_sqlite: Ask, title: str) -> None:
    steps = [row[-1] for row in ask_sqlite(f"EXPLAIN QUERY PLAN {SQL[title].query}")]
    assert any("USING" in each for each in steps)
    assert not [each for each in steps if re.match(r"SCAN (entity|relation|media|.)\b", each)]


@pytest.mark.parametrize("title", SQL)
def test_answers_come_at_once(ask_neo4j: Ask, ask_sqlite: Ask, title: str) -> None:
    assert quickest(ask_neo4j, CYPHER[title].query) < 0.5
    assert quickest(ask_sqlite, SQL[title].query) < 0.5


def quickest(ask: Ask, query: str) -> float:
    """Of three: a busy computer is no reason to fail."""
    times = []
    for _ in range(3):
        begin = time.monotonic()
        ask(query)
        times.append(time.monotonic() - begin)
    return min(times)


def test_the_fields_are_those_of_the_graph(ask_neo4j: Ask) -> None:
    told = {
        name: sorted(re.split(r",\s+", fields))
        for name, fields in re.findall(r"`[([]:(\w+) {([^}]+)}", TEXT)
    }
    patterns = {"Entity": "(x:Entity)", "IsA": "()-[x:CapableOf]->()", "Media": "(x:Media)"}
    assert told.keys() == patterns.keys()
    for name, pattern in patterns.items():
        stored = ask_neo4j(f"MATCH {pattern} UNWIND keys(x) AS key RETURN DISTINCT key")
        assert sorted(key for (key,) in stored) == told[name]


# --- the programs ------------------------------------------------------------------------------


def run_script(text: str, folder: Path, **environment: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", text],
        cwd=folder, capture_output=True, text=True, timeout=60,
        env=clean_environment(PYTHONPATH=str(ROOT), **environment),
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout


def python_block(word: str) -> str:
    (block,) = [block for block in blocks("python") if word in block]
    return block


def test_the_python_example_prints_neighbours(folder: Path) -> None:
    said = run_script(python_block("sqlite:"), folder)
    assert "/c/en/dog IsA /c/en/pet 2.828\n" in said


def test_the_driver_example_prints_what_begins_at_a_name(
    sample_server: AnyServer, tmp_path: Path
) -> None:
    parts = urlsplit(sample_server.url)
    text = python_block("GraphDatabase")
    for shown, ours in {
        "neo4j://127.0.0.1:7687": f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}",
        '("neo4j", ': f'("{parts.username or "neo4j"}", ',
        'database_="neo4j"': f'database_="{database_of(sample_server)}"',
    }.items():
        assert text.count(shown) == 1
        text = text.replace(shown, ours)
    said = run_script(text, tmp_path, SHEAF_NEO4J_PASSWORD=sample_server.password).splitlines()
    assert said[0] == "CapableOf dig holes 4.472"
    assert "IsA pet 2.828" in said
    assert all(float(line.rpartition(" ")[2]) >= 2 for line in said)


# --- commands, flags, links --------------------------------------------------------------------


@pytest.fixture(scope="module")
def script_help() -> dict[str, str]:
    """What scripts/neo4j says of each of its commands."""
    names = re.findall(r"^    ([a-z]+) ", script("--help").stdout, re.MULTILINE)
    return {name: script(name, "--help").stdout for name in names}


def test_every_command_and_flag_in_the_readme_exists(script_help: dict[str, str]) -> None:
    helps = [overview(), *(Parser(verb).format_help() for verb in VERBS), *script_help.values()]
    offered = "".join(helps)
    for flag in set(re.findall(r"(?<![\w-])--[a-z][a-z0-9-]*", TEXT)):
        assert re.search(rf"{flag}\b(?!-)", offered), flag
    for command in set(re.findall(r"python main\.py ([a-z]+)", TEXT)):
        assert command in VERBS
    for command in set(re.findall(r"scripts/neo4j ([a-z]+)", TEXT)):
        assert command in script_help


def test_every_command_stands_in_the_table() -> None:
    table = TEXT.partition("## Every command")[2].partition("\n## ")[0]
    pattern = r"`(?:python main\.py )?((?:pages |structure |cluster )?[a-z]+)[` ]"
    told = set(re.findall(pattern, table))
    assert set(VERBS) <= told


def test_what_the_commands_write_leaves_git_clean(tmp_path: Path) -> None:
    option = r"(?:--state|--media|--plot|main.py (?:pages )?export(?: --format \w+)?) ([\w.-]+)"
    named = re.findall(option, "\n".join(commands()))
    assert {"state-english", "m-walk", "graph-files", "graph-parquet", "progress.svg"} <= {*named}
    subprocess.run(["git", "init", "-q", tmp_path], check=True)
    shutil.copy(ROOT / ".gitignore", tmp_path)
    for name in named:
        file = tmp_path / name if "." in name else tmp_path / name / "file"
        file.parent.mkdir(exist_ok=True)
        file.touch()
    status = ["git", "-C", str(tmp_path), "status", "--short"]
    assert subprocess.run(status, capture_output=True, text=True).stdout == "?? .gitignore\n"


@pytest.mark.parametrize(
    "command", [line for line in commands() if line.startswith("python main.py")]
)
def test_every_command_line_is_understood(command: str) -> None:
    parsed(shlex.split(command)[2:])


def test_the_server_script_can_be_run_as_it_is_written() -> None:
    assert any(line.startswith("scripts/neo4j ") for line in commands())
    assert os.access(ROOT / "scripts/neo4j", os.X_OK)


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """Where `make run` was typed, for a few concepts."""
    shutil.copytree(ROOT / "scripts", tmp_path / "scripts")
    for name in ("main.py", "tools"):
        (tmp_path / name).symlink_to(ROOT / name)
    done = run("main.py", "--sample", *FEW.split(), "-q", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    return tmp_path


FEW = "--no-media --limit 3"


def typed(line: str, folder: Path) -> subprocess.CompletedProcess[str]:
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    return subprocess.run(
        ["bash", "-ec", line], cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, text=True,
        timeout=600, env=clean_environment(PATH=path, **QUICK_START),
    )  # fmt: skip


def test_the_neo4j_chapter_works_as_it_is_typed(clone: Path) -> None:
    """On another port, because somebody's server may have that one, and with few concepts."""
    chapter = TEXT.partition("## Into Neo4j")[2].partition("\n## ")[0]
    shown = "".join(re.findall(r"^```\n(.*?)^```$", chapter, re.DOTALL | re.MULTILINE))
    port = str(free_port())
    lines = shown.replace("7687", port).replace("--sample", f"--sample {FEW}")
    assert lines.count("scripts/neo4j start") == 2
    start = f"scripts/neo4j start --port {port} --set {next(iter(QUICK_END))}=100ms"
    lines = lines.replace("scripts/neo4j start", start)
    try:
        begun = typed(start, clone)
        if begun.returncode == CANNOT_BE_HAD:
            missing(begun.stderr.strip())
        told = begun.stdout.splitlines()[2].removeprefix("use it: ")
        for each in (told.replace("--sample", f"--sample {FEW}"), lines):
            done = typed(each, clone)
            assert done.returncode == 0, (each, done.stdout, done.stderr)
        count = "python main.py export again --format csv --graph neo4j://neo4j@127.0.0.1:" + port
        done = typed(f"export SHEAF_NEO4J_PASSWORD=$(cat .neo4j/password); {count}", clone)
        assert done.returncode == 0, done.stderr
    finally:
        assert typed("scripts/neo4j stop", clone).returncode == 0
    loaded = (clone / "again/relations.csv").read_text().count("/a/[")
    assert loaded == len(in_sqlite(clone / "state/graph.db")["relation"]) > 0


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda document: document.name)
def test_every_link_leads_somewhere(document: Path) -> None:
    text = document.read_text(encoding="utf-8")
    for target, anchor in re.findall(r"\]\(([^)#:]+)(?:#([^)]+))?\)", text):
        found = document.parent / target
        assert found.exists(), target
        assert not anchor or anchor in anchors(found.read_text(encoding="utf-8")), anchor


def anchors(text: str) -> list[str]:
    return [title.lower().replace(" ", "-") for title in re.findall(r"^#+ (.+)$", text, re.M)]
