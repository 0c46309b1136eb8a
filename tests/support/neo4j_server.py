"""A Neo4j server for tests, driven through scripts/neo4j as a user drives it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self
from urllib.parse import unquote, urlsplit

import pytest
from neo4j import Driver, GraphDatabase
from neo4j.exceptions import DriverError, Neo4jError

from tests.support.command import ROOT, clean_environment, run
from tests.support.needs import missing
from tests.support.ports import free_port

CANNOT_BE_HAD = 4
PATIENCE = 1200  # seconds; the first start of all downloads the server

# By default the server sleeps ten seconds when it is stopped, for clients that say goodbye.
QUICK_END = {
    "internal.server.bolt.thread_pool_shutdown_wait_time": "100ms",
    "internal.server.bolt.connection_shutdown_wait_time": "100ms",
}
# Compiling less eagerly, Java starts it in two thirds of the time.
QUICK_START = {"JAVA_TOOL_OPTIONS": "-XX:TieredStopAtLevel=1"}


class CannotBeHad(Exception):
    """This computer has nothing that could provide a server; the script's sentence says what."""


def script(
    command: str, *arguments: object, **environment: str
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, str(ROOT / "scripts/neo4j"), command, *map(str, arguments)],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        env=clean_environment() | QUICK_START | environment,
    )


class Server:
    """One server with a home and a port of its own; `restart` brings back a killed one too."""

    def __init__(self, home: Path, settings: dict[str, str], environment: dict[str, str]) -> None:
        self.home = home
        self.settings = QUICK_END | settings
        self.environment = environment
        self.url = ""
        self.password = ""

    @classmethod
    def start(cls, home: Path, environment: dict[str, str] | None = None, **settings: str) -> Self:
        """Settings have dots in their names: `Server.start(home, **{"db.logs...": "..."})`."""
        server = cls(home, settings, environment or {})
        server.launch()
        return server

    def launch(self) -> subprocess.CompletedProcess[str]:
        flags = [f"--set={key}={value}" for key, value in self.settings.items()]
        port = urlsplit(self.url).port or free_port()
        done = script("start", "--home", self.home, "--port", port, *flags, **self.environment)
        if done.returncode == CANNOT_BE_HAD:
            raise CannotBeHad(done.stderr.strip())
        assert done.returncode == 0, done.stderr
        self.url = self.status()["url"]
        self.password = (self.home / "password").read_text(encoding="utf-8")
        return done

    def stop(self) -> subprocess.CompletedProcess[str]:
        done = script("stop", "--home", self.home)
        assert done.returncode == 0, done.stderr
        return done

    def kill(self) -> None:
        """As a crash of the machine would: without a word."""
        facts = self.status()
        if facts["pid"] is None:
            return
        if facts["origin"] == "docker":
            name = f"sheaf-neo4j-{urlsplit(self.url).port}"
            subprocess.run(["docker", "kill", name], check=True, capture_output=True, timeout=60)
        else:
            os.kill(facts["pid"], signal.SIGKILL)
        until = time.monotonic() + 30
        while self.status()["pid"] is not None:
            assert time.monotonic() < until, f"{facts} survived SIGKILL"
            time.sleep(0.05)

    def restart(self) -> None:
        self.stop()
        self.launch()

    def status(self) -> dict[str, Any]:
        done = script("status", "--home", self.home, "--json")
        assert done.returncode in (0, 3), done.stderr
        facts: dict[str, Any] = json.loads(done.stdout)
        return facts

    def query(self, text: str, **parameters: object) -> list[dict[str, Any]]:
        return ask(self, text, **parameters)


@dataclass(frozen=True)
class GivenServer:
    """Somebody's own server, named by SHEAF_TEST_NEO4J."""

    url: str
    password: str


AnyServer = Server | GivenServer


# --- where a test gets one -------------------------------------------------------------------


def own_server(folder: Path, settings: dict[str, str] | None = None) -> Iterator[Server]:
    try:
        server = Server.start(folder / "home", None, **(settings or {}))
    except CannotBeHad as error:
        missing(str(error))
    yield server
    server.stop()


def given_server(url: str, password: str) -> Iterator[GivenServer]:
    """The tests empty the database they are given, so it must hold nothing to begin with."""
    server = GivenServer(url, password)
    try:
        [counted] = ask(server, "MATCH (n) RETURN count(n) AS nodes")
    except (DriverError, Neo4jError, ValueError) as error:
        pytest.exit(f"SHEAF_TEST_NEO4J={url} cannot be used: {error}", returncode=2)
    if counted["nodes"]:
        sentence = f"{url} holds {counted['nodes']} nodes; the tests want an empty database"
        pytest.exit(sentence, returncode=2)
    yield server
    emptied(server)


# --- how it is spoken to ---------------------------------------------------------------------


def ask(server: AnyServer, text: str, **parameters: object) -> list[dict[str, Any]]:
    with driver_for(server.url, server.password) as driver:
        return rows(driver, text, parameters, database_of(server))


def emptied(server: AnyServer) -> AnyServer:
    """Whoever made what is there; constraints and indexes stay."""
    ask(server, "MATCH (n) DETACH DELETE n")
    return server


def run_with(
    server: AnyServer, name: str, *arguments: object, **more: Any
) -> subprocess.CompletedProcess[str]:
    """Run one of the three scripts as somebody who knows the password."""
    return run(name, *arguments, SHEAF_NEO4J_PASSWORD=server.password, **more)


def database_of(server: AnyServer) -> str:
    return unquote(urlsplit(server.url).path.strip("/")) or "neo4j"


def driver_for(url: str, password: str) -> Driver:
    """For an address like neo4j://user@host:port/database."""
    parts = urlsplit(url)
    address = f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}"
    return GraphDatabase.driver(
        address, auth=(parts.username or "neo4j", password), connection_timeout=10
    )


def rows(
    driver: Driver, text: str, parameters: dict[str, Any] | None = None, database: str = "neo4j"
) -> list[dict[str, Any]]:
    with driver.session(database=database) as session:
        return session.run(text, parameters).data()
