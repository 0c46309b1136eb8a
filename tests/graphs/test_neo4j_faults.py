"""A Neo4j that goes away, is ruined, is read-only, or wants a certificate."""

from __future__ import annotations

import resource
import shutil
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tests.support.command import pools_of, read_until, run, says, start
from tests.support.graph_world import assert_graph_is, graph_in
from tests.support.neo4j_server import Server
from tests.support.store_contract import DOG_IS_PET, write
from tests.support.worlds.certificates import make_certificate
from tests.support.worlds.conceptnet import World, mesh
from tools.conceptnet.graph import open_graph

PATIENCE = 300  # seconds; nothing here is about how quick a busy machine is


@pytest.fixture(scope="module")
def prepared(own_neo4j: Server, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files of a database with our schema and nothing else.

    Nobody writes while they are copied, so they are what a crash would leave.
    """
    graph_in(own_neo4j).close()
    return shutil.copytree(own_neo4j.home / "data", tmp_path_factory.mktemp("prepared") / "data")


@pytest.fixture
def server(own_neo4j: Server, prepared: Path) -> Iterator[Server]:
    """Whatever a test does to its files, the next one finds them as they were."""
    yield own_neo4j
    own_neo4j.kill()
    shutil.rmtree(own_neo4j.home / "data")
    shutil.copytree(prepared, own_neo4j.home / "data")


def launch_with(server: Server, settings: dict[str, str]) -> None:
    """As it was made, and with these settings on top."""
    server.kill()
    made, server.settings = server.settings, server.settings | settings
    try:
        server.launch()
    finally:
        server.settings = made


def sentence_in(stderr: str) -> str:
    (sentence,) = [each for each in stderr.splitlines() if each.startswith("sheaf: ")]
    return sentence


def test_a_server_that_ends_twice_under_load_is_waited_for(tmp_path: Path, server: Server) -> None:
    """Once it is killed, once it is stopped."""
    server.launch()
    lines, state = mesh(400), tmp_path / "state"
    with World(lines, latency=0.02) as world:
        flags = ("--source", world.url, "--seed", "/c/en/0", "--no-media", "--graph", server.url)
        harvest = start("main.py", *flags, "--state", state, SHEAF_NEO4J_PASSWORD=server.password)
        try:
            for served, end in ((100, server.kill), (250, server.stop)):
                world.wait_for(served, timeout=PATIENCE)
                end()
                read_until("cannot be reached", harvest)
                server.launch()
            _, said = harvest.communicate(timeout=PATIENCE)
        finally:
            harvest.kill()
    assert harvest.returncode == 0, said
    assert "Traceback" not in said
    assert_graph_is(server, lines)
    pools = pools_of(state)
    assert pools["finished"] == sum(pools.values()) == 400


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux can limit another process")
def test_a_full_disk_stops_the_harvest(tmp_path: Path, server: Server) -> None:
    """The server may not make its files longer: to it that is a disk without room."""
    server.launch()
    log = max((server.home / "data/transactions/neo4j").iterdir())
    limit = log.stat().st_size + 20_000
    resource.prlimit(server.status()["pid"], resource.RLIMIT_FSIZE, (limit, limit))
    try:
        flags = (
            "--sample",
            "--no-media",
            "-q",
            "--state",
            tmp_path / "state",
            "--graph",
            server.url,
        )
        done = run("main.py", *flags, SHEAF_NEO4J_PASSWORD=server.password, seconds=PATIENCE)
    finally:
        server.kill()
    assert done.returncode == 5, done.stderr
    assert "out of order" in sentence_in(done.stderr)
    pools = pools_of(tmp_path / "state")
    assert pools["failed"] == 0

    server.launch()
    done = run("main.py", *flags, "--limit", 5, SHEAF_NEO4J_PASSWORD=server.password)
    assert done.returncode == 0, done.stderr
    assert pools_of(tmp_path / "state")["failed"] == 0


def test_a_database_that_its_server_gives_up_is_not_waited_for(
    tmp_path: Path, server: Server
) -> None:
    """The server comes back and answers, but it cannot start the database any more."""
    server.launch()
    with World(mesh(400), latency=0.02) as world:
        flags = ("--source", world.url, "--seed", "/c/en/0", "--no-media", "--graph", server.url)
        harvest = start(
            "main.py", *flags, "--state", tmp_path / "state", SHEAF_NEO4J_PASSWORD=server.password
        )
        try:
            world.wait_for(20, timeout=PATIENCE)
            server.kill()
            read_until("cannot be reached", harvest)
            (server.home / "data/databases/neo4j/neostore").write_bytes(b"ruined" * 1000)
            server.launch()
            _, said = harvest.communicate(timeout=PATIENCE)
        finally:
            harvest.kill()
    assert harvest.returncode == 5, said
    assert "out of order" in sentence_in(said) and "Unable to start" in said
    pools = pools_of(tmp_path / "state")
    assert pools["to_fetch"] and not pools["failed"]

    again = ("--sample", "--no-media", "-q", "--state", tmp_path / "other", "--graph", server.url)
    done = run("main.py", *again, SHEAF_NEO4J_PASSWORD=server.password)
    assert "out of order" in says(done, 5)


def test_a_read_only_server_stops_the_harvest(tmp_path: Path, server: Server) -> None:
    launch_with(server, {"server.databases.default_to_read_only": "true"})
    flags = (
        "--sample",
        "--no-media",
        "-q",
        "--state",
        tmp_path / "state",
        "--graph",
        server.url,
    )
    done = run("main.py", *flags, SHEAF_NEO4J_PASSWORD=server.password)
    assert done.returncode == 5, done.stderr
    assert "cannot be written" in sentence_in(done.stderr)
    assert not (tmp_path / "state").exists(), "nothing was begun, so nothing is left"


def test_a_certificate_is_checked(tmp_path: Path, server: Server) -> None:
    """neo4j+s trusts whom the system trusts; here that is the certificate itself."""
    folder = server.home / "certificates"
    certificate, key = make_certificate(folder, "DNS:localhost,IP:127.0.0.1")
    policy = "dbms.ssl.policy.bolt"
    files = {
        f"{policy}.enabled": "true",
        f"{policy}.base_directory": str(folder),
        f"{policy}.private_key": key.name,
        f"{policy}.public_certificate": certificate.name,
    }
    launch_with(server, {"server.bolt.tls_level": "REQUIRED"} | files)
    url = f"neo4j+s://neo4j@localhost:{urlsplit(server.url).port}"
    flags = ("--sample", "--no-media", "-q", "--limit", 3, "--graph", url)
    places = ("--state", tmp_path / "state")
    secret = server.password

    stranger = run("main.py", *flags, *places, SHEAF_NEO4J_PASSWORD=secret)
    assert stranger.returncode == 3
    assert "SSLCertVerificationError" in stranger.stderr
    trusted = str(certificate)
    friend = run("main.py", *flags, *places, SHEAF_NEO4J_PASSWORD=secret, SSL_CERT_FILE=trusted)
    assert friend.returncode == 0, friend.stderr

    unchecked = url.replace("neo4j+s", "neo4j+ssc")
    with closing(open_graph(unchecked, server.password)) as graph:
        write(graph, DOG_IS_PET)
        assert graph.holds(relations=[DOG_IS_PET]) == 1
