"""Documents that are parsed by nodes give the JSON and the rows that they give here."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from tests.support.cluster import Cluster
from tests.support.command import run
from tests.support.nats_server import NatsServer, running_nats
from tools.sample.seed_bank import STRUCTURES

pytestmark = pytest.mark.timeout(120)

NODES = ("alpha", "beta", "gamma")
OWN = "reserve_bytes = 0\n[structure]\nworkers = 2\n"
PLAIN_TABLES = ("sqlite_", "sheaf_", "_")
PAGES = 40
LARGE = 8_200_000  # bytes


def write_structure(folder: Path, with_documents: bool) -> None:
    """The built-in one, with more pages, one that no parser takes, and a large file."""
    shutil.copytree(STRUCTURES, folder / "structures")
    raw = folder / "structures" / "raw"
    if not with_documents:
        shutil.rmtree(raw)
        return
    page = (raw / "A-001.html").read_text()
    for number in range(100, 100 + PAGES):
        (raw / f"A-{number}.html").write_text(page.replace("A-001", f"A-{number}"))
    (raw / "broken.json").write_text("{")
    (raw / "large.json").write_text('{"much": "' + LARGE * "a" + '"}')


def end_of(state: Path) -> dict[str, Any]:
    found: dict[str, Any] = {}
    with closing(sqlite3.connect(f"file:{state / 'pools.db'}?mode=ro", uri=True)) as db:
        found["pools"] = sorted(db.execute("SELECT uri, pool, note FROM uri"))
    with closing(sqlite3.connect(f"file:{state / 'documents.db'}?mode=ro", uri=True)) as db:
        columns = "hash, source, parser, parser_hash, bytes, json"
        found["documents"] = sorted(db.execute(f"SELECT {columns} FROM document"))
        found["failures"] = sorted(
            db.execute("SELECT hash, source, parser, parser_hash FROM failure")
        )
    for file in state.glob("*.db"):
        if file.name not in ("pools.db", "documents.db"):
            found |= rows_of(file)
    return found


def rows_of(file: Path) -> dict[str, Any]:
    with closing(sqlite3.connect(f"file:{file}?mode=ro", uri=True)) as db:
        names = db.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
        kept = [name for (name,) in names if not name.startswith(PLAIN_TABLES)]
        return {name: sorted(db.execute(f"SELECT * FROM {name}"), key=repr) for name in kept}


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    folder = tmp_path_factory.mktemp("alone")
    write_structure(folder, True)
    (folder / "sheaf.toml").write_text(OWN)
    done = run("main.py", "structure", "seeds", "-q", cwd=folder)
    assert done.returncode == 0, done.stderr
    return end_of(folder / "state-structure" / "seeds")


@pytest.fixture
def server(tmp_path: Path) -> Iterator[NatsServer]:
    with running_nats(tmp_path / "server", nodes=NODES) as server:
        yield server


@pytest.fixture
def cluster(tmp_path: Path, server: NatsServer) -> Iterator[Cluster]:
    with Cluster(tmp_path, server, OWN, OWN, "structure") as cluster:
        for name in ("coordinator", *NODES):
            write_structure(tmp_path / name, name == "coordinator")
        yield cluster


def end_in(cluster: Cluster) -> dict[str, Any]:
    return end_of(cluster.home / "state-structure" / "seeds")


def parsed_by(cluster: Cluster, name: str) -> int:
    files = (cluster.folder / name).glob("state*/**/log")
    return sum(file.read_text().count("Worker parse begins") for file in files)


def test_it_ends_as_without_nodes(cluster: Cluster, alone: dict[str, Any]) -> None:
    """Who has another parser does nothing."""
    other = cluster.folder / "gamma" / "structures" / "parsers" / "accession.py"
    other.write_text(other.read_text() + "# edited\n")
    cluster.start_node("gamma", "-v")
    coordinator = cluster.start("seeds", "-q", "-v")
    cluster.wait_for("gamma", "its parsers/accession.py is another one than here: copy the file")
    for node in ("alpha", "beta"):
        cluster.start_node(node, "-v")
    assert coordinator.wait(90) == 0, cluster.log("coordinator")
    assert end_in(cluster) == alone
    assert parsed_by(cluster, "coordinator") == 1, "the large one"
    assert parsed_by(cluster, "gamma") == 0
    worked = [parsed_by(cluster, node) for node in ("alpha", "beta")]
    assert sum(worked) == len(alone["documents"]) + len(alone["failures"]) - 1, worked
    assert len(alone["documents"]) > PAGES and alone["failures"]
