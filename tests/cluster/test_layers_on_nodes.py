"""A task whose pages are asked for by nodes ends as one that is asked for here."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing
from itertools import combinations
from pathlib import Path
from threading import Event
from typing import Any

import pytest

from tests.support.cluster import Cluster
from tests.support.command import run
from tests.support.nats_server import NatsServer, running_nats
from tests.support.site import Asked, Site
from tools.commands.sample_world import TASKS
from tools.sample.shop import Flaws
from tools.sample.shop_site import ShopSite

pytestmark = pytest.mark.timeout(120)

NAMES = ("shop", "brands")
NODES, OTHERS = ("alpha", "beta", "gamma"), ("delta", "epsilon", "zeta")
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
        found["pools"] = sorted(db.execute("SELECT uri, pool FROM uri"))
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
        names = [
            name for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type='table'")
        ]
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
    with running_nats(tmp_path / "server", nodes=NODES + OTHERS) as server:
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
    worked = [cluster.log(node).count("we work for the job layers") for node in ("alpha", "beta")]
    assert sum(worked) >= 2, "at least one was there for both"


def test_who_has_another_task_or_none_is_refused_and_others_finish(
    cluster: Cluster, alone: dict[str, Any]
) -> None:
    edited = cluster.folder / "beta" / "tasks" / "shop.toml"
    edited.write_text(edited.read_text() + "# edited\n")
    cluster.start_node("beta")
    cluster.start_node("gamma")
    coordinator = cluster.start("shop", "-q")
    cluster.wait_for("beta", "its tasks/shop is another one than here: copy the file")
    cluster.wait_for("gamma", "there is no folder tasks")
    cluster.start_node("alpha")
    assert coordinator.wait(90) == 0, cluster.log("coordinator")
    assert end_in(cluster, "shop") == alone["shop"]


def test_a_session_of_its_own_stays_on_one_machine(cluster: Cluster) -> None:
    task = cluster.home / "tasks" / "shop.toml"
    task.write_text('cookies = "task"\n' + task.read_text())
    assert cluster.run("shop") == 2
    assert "start it without --cluster" in cluster.log("coordinator")


# --- how often a host is asked -----------------------------------------------------------------

DELAY_S, SLACK_S, PAGES = 0.5, 0.2, 6  # a busy computer sends or hears some of them late
PACED = """
base = "{base}"
database = "sqlite:pages.db"
start = [{starts}]
[limits]
delay_s = {delay_s}
[tables.page]
key = ["address"]
columns = {{ address = "VARCHAR(100)", title = "TEXT" }}
[layers.home]
deep = 0
next = [{{ to = "detail", each = "a", url = "::attr(href)" }}]
[layers.detail]
deep = 1
[[layers.detail.rows]]
table = "page"
fields = {{ address = "a.self::attr(href)", title = "h1::text" }}
"""


class PacedSite(Site):
    """Knows when each of its requests came; one page is answered only when it is let."""

    def __init__(self, stuck: str = "") -> None:
        self.times: list[float] = []
        self.is_stuck, self.may_go_on = Event(), Event()
        self._stuck = stuck
        pages = {f"/p/{number}": self._page for number in range(PAGES)}
        super().__init__({"/": self._home, "/robots.txt": self._robots, **pages})

    def _robots(self, _asked: Asked) -> str:
        self.times.append(time.monotonic())
        return "User-agent: *\nDisallow:\n"

    def _home(self, _asked: Asked) -> str:
        self.times.append(time.monotonic())
        return "".join(f'<a href="/p/{number}">x</a>' for number in range(PAGES))

    def _page(self, asked: Asked) -> str:
        self.times.append(time.monotonic())
        if asked.target == self._stuck:
            self.is_stuck.set()
            assert self.may_go_on.wait(60)
        return f'<h1>{asked.target}</h1><a class="self" href="{asked.target}">x</a>'

    @property
    def too_soon(self) -> list[tuple[int, float]]:
        """How many came within which time, where that is too short."""
        moments = enumerate(sorted(self.times))
        spans = [(j - i, later - at) for (i, at), (j, later) in combinations(moments, 2)]
        return [(number, span) for number, span in spans if span < number * DELAY_S - SLACK_S]


def test_a_host_is_asked_no_more_often_by_several_nodes_while_they_are_killed(
    cluster: Cluster,
) -> None:
    with PacedSite("/p/2") as one, PacedSite() as other:
        starts = f'"{one.url}", "{other.url}"'
        text = PACED.format(base=one.url, starts=starts, delay_s=DELAY_S)
        for name in ("coordinator", *NODES, *OTHERS):
            (cluster.folder / name / "tasks").mkdir(parents=True, exist_ok=True)
            (cluster.folder / name / "tasks" / "paced.toml").write_text(text)
        for node in NODES:
            cluster.start_node(node)
        coordinator = cluster.start("paced", "-q")
        assert one.is_stuck.wait(60), cluster.log("coordinator")
        for node in NODES:
            cluster.kill(node)
        one.may_go_on.set()
        for node in OTHERS:
            cluster.start_node(node)
        assert coordinator.wait(90) == 0, cluster.log("coordinator")
        rows = rows_of(cluster.home / "state-layers" / "paced" / "pages.db")["page"]
        assert len(rows) == PAGES, "both sites have the same pages"
        for site in (one, other):
            assert len(site.times) > PAGES
            assert site.too_soon == []
