"""A Neo4j that goes away, is read-only, or wants a certificate: each on a server of its own."""

from __future__ import annotations

import resource
import sys
from contextlib import closing
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tests.command import pools_of, read_until, run, start
from tests.graph_world import assert_graph_is
from tests.neo4j_server import Server
from tests.store_contract import DOG_IS_PET, write
from tests.worlds.certificates import make_certificate
from tests.worlds.conceptnet import World, mesh
from tools.graphs import open_graph


def start_with(server: Server, settings: dict[str, str]) -> None:
    """As it was made, and with these settings on top."""
    server.kill()
    made, server.settings = server.settings, server.settings | settings
    server.launch()
    server.settings = made


def sentence_in(stderr: str) -> str:
    (sentence,) = [each for each in stderr.splitlines() if each.startswith("sheaf: ")]
    return sentence


def test_a_server_that_ends_twice_under_load_is_waited_for(
    tmp_path: Path, own_neo4j: Server
) -> None:
    """Once it is killed, once it is stopped."""
    lines, state = mesh(400), tmp_path / "state"
    with World(lines, latency=0.02) as world:
        flags = ("--source", world.url, "--seed", "/c/en/0", "--no-media", "--graph", own_neo4j.url)
        harvest = start(
            "main.py", *flags, "--state", state, SHEAF_NEO4J_PASSWORD=own_neo4j.password
        )
        try:
            for served, end in ((100, own_neo4j.kill), (250, own_neo4j.stop)):
                world.wait_for(served, timeout=60)
                end()
                read_until("cannot be reached", harvest)
                own_neo4j.launch()
            _, said = harvest.communicate(timeout=120)
        finally:
            harvest.kill()
    assert harvest.returncode == 0, said
    assert "Traceback" not in said
    assert_graph_is(own_neo4j, lines)
    pools = pools_of(state)
    assert pools["finished"] == sum(pools.values()) == 400


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux can limit another process")
def test_a_full_disk_stops_the_harvest(tmp_path: Path, own_neo4j: Server) -> None:
    """The server may not make its files longer: to it that is a disk without room."""
    log = max((own_neo4j.home / "data/transactions/neo4j").iterdir())
    limit = log.stat().st_size + 20_000
    resource.prlimit(own_neo4j.status()["pid"], resource.RLIMIT_FSIZE, (limit, limit))
    try:
        flags = (
            "--sample",
            "--no-media",
            "-q",
            "--state",
            tmp_path / "state",
            "--graph",
            own_neo4j.url,
        )
        done = run("main.py", *flags, SHEAF_NEO4J_PASSWORD=own_neo4j.password)
    finally:
        own_neo4j.kill()
        own_neo4j.launch()
    assert done.returncode == 5, done.stderr
    assert "out of order" in sentence_in(done.stderr)
    pools = pools_of(tmp_path / "state")
    assert pools["failed"] == 0

    done = run("main.py", *flags, "--limit", 5, SHEAF_NEO4J_PASSWORD=own_neo4j.password)
    assert done.returncode == 0, done.stderr
    assert pools_of(tmp_path / "state")["failed"] == 0


def test_a_read_only_server_stops_the_harvest(tmp_path: Path, own_neo4j: Server) -> None:
    start_with(own_neo4j, {"server.databases.default_to_read_only": "true"})
    flags = (
        "--sample",
        "--no-media",
        "-q",
        "--state",
        tmp_path / "state",
        "--graph",
        own_neo4j.url,
    )
    done = run("main.py", *flags, SHEAF_NEO4J_PASSWORD=own_neo4j.password)
    assert done.returncode == 5, done.stderr
    assert "cannot be written" in sentence_in(done.stderr)
    pools = pools_of(tmp_path / "state")
    assert pools["to_fetch"] == 1 and pools["failed"] == 0


def test_a_certificate_is_checked(tmp_path: Path, own_neo4j: Server) -> None:
    """neo4j+s trusts whom the system trusts; here that is the certificate itself."""
    folder = own_neo4j.home / "certificates"
    certificate, key = make_certificate(folder, "DNS:localhost,IP:127.0.0.1")
    policy = "dbms.ssl.policy.bolt"
    files = {
        f"{policy}.enabled": "true",
        f"{policy}.base_directory": str(folder),
        f"{policy}.private_key": key.name,
        f"{policy}.public_certificate": certificate.name,
    }
    start_with(own_neo4j, {"server.bolt.tls_level": "REQUIRED"} | files)
    url = f"neo4j+s://neo4j@localhost:{urlsplit(own_neo4j.url).port}"
    flags = ("--sample", "--no-media", "-q", "--limit", 3, "--graph", url)
    places = ("--state", tmp_path / "state")
    secret = own_neo4j.password

    stranger = run("main.py", *flags, *places, SHEAF_NEO4J_PASSWORD=secret)
    assert stranger.returncode == 3
    assert "SSLCertVerificationError" in stranger.stderr
    trusted = str(certificate)
    friend = run("main.py", *flags, *places, SHEAF_NEO4J_PASSWORD=secret, SSL_CERT_FILE=trusted)
    assert friend.returncode == 0, friend.stderr

    unchecked = url.replace("neo4j+s", "neo4j+ssc")
    with closing(open_graph(unchecked, own_neo4j.password)) as graph:
        write(graph, DOG_IS_PET)
        assert graph.holds(relations=[DOG_IS_PET]) == 1
