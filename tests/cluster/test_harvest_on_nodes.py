"""A harvest whose relations and media are fetched by nodes ends as one without any does."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from tests.soak.compare import Essence, Places, differences, essence
from tests.support.cluster import Cluster
from tests.support.command import run
from tests.support.nats_server import VERSIONS, NatsServer, running_nats
from tests.support.worlds.conceptnet import World
from tests.support.worlds.media import MediaWorld
from tools.engine.pools import Pools

OWN = "reserve_bytes = 0\nprocesses = 0\n"


def settings_of(world: World, media: MediaWorld) -> str:
    servers = "".join(f'{name} = "{url}"\n' for name, url in media.servers.items())
    return (
        f'source = "{world.url}"\nseeds = ["/c/en/dog"]\ndepth = 1\nprocesses = 0\n'
        "reserve_bytes = 0\nstop_grace_s = 5\n[http]\ntries = 1\n"
        f"[extend]\nimages = 2\nsounds = 1\ngifs = 1\n[extend.servers]\n{servers}"
    )


@pytest.fixture(scope="module")
def settings(world: World, media: MediaWorld) -> str:
    return settings_of(world, media)


@pytest.fixture(scope="module")
def alone(settings: str, tmp_path_factory: pytest.TempPathFactory) -> Essence:
    """What one machine makes of it."""
    folder = tmp_path_factory.mktemp("alone")
    (folder / "sheaf.toml").write_text(settings)
    assert run("main.py", "-q", cwd=folder).returncode == 0
    return essence(Places(folder / "state", folder / "m"))


@pytest.fixture(params=VERSIONS)
def server(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[NatsServer]:
    with running_nats(tmp_path / "server", request.param) as server:
        yield server


@pytest.fixture
def cluster(tmp_path: Path, server: NatsServer, settings: str) -> Iterator[Cluster]:
    with Cluster(tmp_path, server, settings, OWN) as cluster:
        yield cluster


def custody(cluster: Cluster) -> dict[str, int]:
    with closing(Pools(cluster.places().pools, [])) as pools:
        return pools.custody.numbers()


def test_it_ends_as_without_nodes(cluster: Cluster, alone: Essence) -> None:
    for name in ("alpha", "beta"):
        cluster.start_node(name, "--once")
    assert cluster.run("-q") == 0, cluster.log("coordinator")
    assert differences(alone, cluster.essence(["alpha", "beta"])) == []
    for name in ("alpha", "beta"):
        assert cluster.processes[name].wait(30) == 0, cluster.log(name)
        assert list(cluster.places(name).media.glob("*/*")), "both have worked"
    owners = custody(cluster)
    assert set(owners) == {"alpha", "beta"}


@pytest.mark.parametrize("server", VERSIONS[:1], indirect=True)  # it waits for any alike
def test_a_node_waits_for_a_server_that_is_not_there_yet(
    cluster: Cluster, server: NatsServer, alone: Essence
) -> None:
    server.kill()
    cluster.start_node("alpha", "--once")
    cluster.wait_for("alpha", "it is tried again")
    server.start()
    assert cluster.run("-q") == 0, cluster.log("coordinator")
    assert differences(alone, cluster.essence(["alpha"])) == []
    assert cluster.processes["alpha"].wait(30) == 0, cluster.log("alpha")
