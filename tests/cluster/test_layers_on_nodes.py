"""A task whose pages are asked for by nodes ends as one that is asked for here."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from tests.support.cluster import Cluster, until
from tests.support.command import run
from tests.support.nats_server import NatsServer, running_nats
from tools.commands.sample_world import TASKS
from tools.sample.shop import GONE, Flaws
from tools.sample.shop_site import ShopSite

pytestmark = pytest.mark.timeout(120)

NAMES = ("shop", "brands")
HASTY = "[layers]\ndelay_s = 0.0\ndelay_factor = 0.0\nper_host = 8\n"
OWN = "reserve_bytes = 0\n"
NOT_THE_SAME = ("_seen",)  # when a row was seen


@pytest.fixture(scope="module")
def site() -> Iterator[ShopSite]:
    with ShopSite(Flaws(once=False)) as site:
        yield site


def write_tasks(folder: Path, site: ShopSite) -> None:
    """The built-in ones, whose site is at a port; some answers are kept."""
    folder.mkdir(parents=True)
    for file in (*TASKS.glob("*.toml"), *TASKS.glob("*.py")):
        text = file.read_text().replace("http://shop.example/", f"{site.url}/")
        text = text.replace("from sheaf.layers", "from tools.layers")
        (folder / file.name).write_text(text.replace("deep = 2\n", "deep = 2\nkeep = true\n"))


def end_of(state: Path) -> dict[str, Any]:
    """All pools, rows and kept answers."""
    found: dict[str, Any] = {}
    with closing(sqlite3.connect(f"file:{state / 'pools.db'}?mode=ro", uri=True)) as db:
        found["pools"] = sorted(db.execute("SELECT uri, pool, note FROM uri"))
    for file in sorted(state.glob("*.db")):
        if file.name in ("shop.db", "brands.db"):
            found |= rows_of(file)
    if (index := state / "kept.db").exists():
        with closing(sqlite3.connect(f"file:{index}?mode=ro", uri=True)) as db:
            columns = "request, digest, address, status, type"
            found["kept"] = sorted(db.execute(f"SELECT {columns} FROM answer"))
    return found


def rows_of(file: Path) -> dict[str, Any]:
    with closing(sqlite3.connect(f"file:{file}?mode=ro", uri=True)) as db:
        names = [name for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type='table'")]
        found = {}
        for name in names:
            if name.startswith(("sqlite_", "sheaf_", "_")):
                continue
            said = db.execute(f"SELECT * FROM {name} ORDER BY 1, 2, 3")
            columns = [each[0] for each in said.description]
            kept = [at for at, each in enumerate(columns) if each not in NOT_THE_SAME]
            found[name] = [tuple(row[at] for at in kept) for row in said]
    return found


@pytest.fixture(scope="module")
def alone(site: ShopSite, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What one machine makes of both."""
    folder = tmp_path_factory.mktemp("alone")
    write_tasks(folder / "tasks", site)
    (folder / "sheaf.toml").write_text(HASTY)
    for name in NAMES:
        done = run("main.py", "layers", name, "-q", cwd=folder)
        assert done.returncode == 0, done.stderr
    return {name: end_of(folder / "state-layers" / name) for name in NAMES}


@pytest.fixture
def server(tmp_path: Path) -> Iterator[NatsServer]:
    with running_nats(tmp_path / "server") as server:
        yield server


@pytest.fixture
def cluster(tmp_path: Path, server: NatsServer, site: ShopSite) -> Iterator[Cluster]:
    with Cluster(tmp_path, server, OWN + HASTY, OWN, "layers") as cluster:
        for name in ("coordinator", "alpha", "beta"):
            write_tasks(tmp_path / name / "tasks", site)
        yield cluster


def end_in(cluster: Cluster, name: str) -> dict[str, Any]:
    return end_of(cluster.home / "state-layers" / name)


def test_both_tasks_end_as_without_nodes(cluster: Cluster, alone: dict[str, Any]) -> None:
    """Nodes stay from one to the next."""
    for node in ("alpha", "beta"):
        cluster.start_node(node)
    for name in NAMES:
        assert cluster.run(name, "-q") == 0, cluster.log("coordinator")
        assert end_in(cluster, name) == alone[name]
    assert alone["shop"]["kept"] and alone["shop"]["product"] and alone["brands"]["brand_hit"]
    assert GONE
    for node in ("alpha", "beta"):
        assert cluster.log(node).count("we work for the job layers") == 2
