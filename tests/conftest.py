"""What the tests of several files share: servers, and main.py in the process of the tests."""

from __future__ import annotations

import contextlib
import functools
import gc
import importlib
import os
import re
import signal
from collections.abc import Generator, Iterator
from pathlib import Path

import pytest
from hypothesis import settings
from xdist.scheduler import LoadFileScheduling

from main import main
from tests.support.command import Here
from tests.support.nats_server import VERSIONS, NatsServer, running_nats
from tests.support.neo4j_server import AnyServer, Server, emptied, given_server, own_server
from tests.support.worlds.conceptnet import World
from tests.support.worlds.media import MediaWorld
from tools.sample import world as sample

UMASK = os.umask(0)
os.umask(UMASK)
SLOW = (
    *("faults", "story", "crash", "package", "shipping", "pages", "assist"),
    *("commands", "cluster", "structure", "layers"),
)

# A busy machine may take a second for what takes a moment; each test has its own deadline.
settings.register_profile("tests", deadline=None)
settings.load_profile("tests")

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # Whoever starts the tests in the background hands this on to every program they start.
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.hookimpl(wrapper=True)
def pytest_collection(session: pytest.Session) -> Generator[None, object, object]:
    """What is collected stays to the end: nobody is to look again and again for what could go."""
    gc.disable()
    try:
        if worker := getattr(session.config, "workerinput", None):
            _import_share(int(worker["workerid"].removeprefix("gw")), worker["workercount"])
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


def _import_share(number: int, workers: int) -> None:
    """In a fresh clone each worker would compile every file, all in the same order: so each begins
    with files of its own, and finds those of the others compiled."""
    tests = Path(__file__).parent
    for file in sorted(tests.rglob("test_*.py"))[number::workers]:
        name = ".".join(file.relative_to(tests.parent).with_suffix("").parts)
        with contextlib.suppress(Exception, pytest.skip.Exception):  # it is told of later
            importlib.import_module(name)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Files that wait for servers take longest, then those that start many processes: they begin
    first, so that all workers end together."""
    of_servers = {item.path for item in items if {"neo4j_server", "own_neo4j"} & _fixtures(item)}
    items.sort(key=lambda item: (item.path not in of_servers, item.path.parent.name not in SLOW))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: object) -> LoadFileScheduling | None:
    return Together(config, log) if config.getvalue("dist") == "loadfile" else None


class Together(LoadFileScheduling):  # type: ignore[misc]
    """All tests of a file are run by one worker, and all files of the shared Neo4j: so it is
    started once."""

    def _split_scope(self, nodeid: str) -> str:
        file: str = super()._split_scope(nodeid)
        return "neo4j" if _shares_neo4j(self.config.rootpath / file) else file


@functools.cache
def _shares_neo4j(file: Path) -> bool:
    """Whoever hands out the work has collected nothing: the files themselves are asked."""
    return (
        re.search(r"\b(neo4j_server|empty_neo4j)\b: ", file.read_text(encoding="utf-8")) is not None
    )


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup() -> None:
    """main.py closes what it writes to others, for as long as its process lives: ours lives on."""
    os.umask(UMASK)


def _fixtures(item: pytest.Item) -> set[str]:
    return set(getattr(item, "fixturenames", ()))


@pytest.fixture
def no_settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """But those of the test: neither a file nor a secret of whoever runs it."""
    monkeypatch.chdir(tmp_path)
    for name in [each for each in os.environ if each.startswith("SHEAF_")]:
        monkeypatch.delenv(name)


@pytest.fixture(scope="module")
def world() -> Iterator[World]:
    """The sample on a server of its own."""
    with World(list(sample.lines())) as world:
        yield world


@pytest.fixture(scope="module")
def media() -> Iterator[MediaWorld]:
    """The sample's media servers."""
    with MediaWorld() as media:
        yield media


@pytest.fixture
def nats_server(tmp_path: Path) -> Iterator[NatsServer]:
    """The newest version, with keys for alpha and beta; up in a tenth of a second."""
    with running_nats(tmp_path / "cluster") as server:
        yield server


@pytest.fixture(params=VERSIONS)
def any_nats_server(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[NatsServer]:
    """The same as the oldest version and as the newest."""
    with running_nats(tmp_path / "cluster", request.param) as server:
        yield server


@pytest.fixture(scope="session")
def neo4j_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[AnyServer]:
    """The server every test may use and empty, but not stop."""
    if url := os.environ.get("SHEAF_TEST_NEO4J"):
        yield from given_server(url, os.environ.get("SHEAF_NEO4J_PASSWORD", ""))
    else:
        yield from own_server(tmp_path_factory.mktemp("neo4j"))


@pytest.fixture
def empty_neo4j(neo4j_server: AnyServer) -> AnyServer:
    """The shared server, its database emptied. Whether there are constraints nobody promises."""
    return emptied(neo4j_server)


@pytest.fixture(scope="module")
def own_neo4j(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server that the tests of one module may stop, kill and restart.

    Its log grows as it is written, so that a limit on the length of files is felt.
    """
    folder = tmp_path_factory.mktemp("own-neo4j")
    yield from own_server(folder, {"db.tx_log.preallocate": "false"})


@pytest.fixture
def here(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> Iterator[Here]:
    """main.py without a process of its own: its exit code and its one sentence."""

    def run_here(*arguments: str) -> str:
        code, (_, said) = main(arguments), capfd.readouterr()
        assert len(said.splitlines()) == 1, said
        return f"{code} {said}"

    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("SHEAF_NEO4J_PASSWORD", raising=False)
    umask = os.umask(0o077)
    yield run_here
    os.umask(umask)
