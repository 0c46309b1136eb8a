"""Shipping as users see it: beside a harvest, through proxies and jump hosts, by hand; and that no
secret is told."""

from __future__ import annotations

import base64
import logging
import shutil
import socket
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.faults.harvests import Harvest
from tests.faults.injection import Clock, Process, wait_until
from tests.faults.slow import media_held_after
from tests.soak.compare import PATH, SHA256
from tests.support.command import records
from tests.support.command import run as run_script
from tests.support.node import Node, SshdNode
from tests.support.shipped import (
    NOT_YET,
    Sender,
    assert_merged,
    json_lines,
    media_in,
    new_node,
    nodes,
    raw,
    receive,
    unpacked,
)
from tests.support.worlds.conceptnet import World
from tests.support.worlds.proxies import HttpProxy, Proxy, Socks5Proxy
from tools import transport
from tools.errors import Unreachable
from tools.media.ledger_lines import FILES
from tools.shipping import sender as lane

PASSWORD, PASSPHRASE, SECRET = "pr0xy-pa55/wörd", "0pen-sesame", "hmac-s3cret"
QUOTED = "pr0xy-pa55%2Fw%C3%B6rd"
TOLD_TO_NOBODY = (
    *(PASSWORD, QUOTED, PASSPHRASE, SECRET, "pr0xy-pa55"),
    base64.b64encode(f"user:{PASSWORD}".encode()).decode(),
)


@pytest.fixture(autouse=True)
def hurried(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lane, "FIRST_WAIT_S", 0.02)
    monkeypatch.setattr(transport, "LOOK_EVERY_S", 0.02)


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first failure ends a shipping."""
    monkeypatch.setattr(lane, "TRIES", 1)


@pytest.fixture(params=["sshd"])
def node(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Node]:
    """The real one, unless a test wants others."""
    with new_node(request.param, tmp_path / "node") as node:
        yield node


@pytest.fixture
def sender(tmp_path: Path, node: Node) -> Sender:
    return Sender(tmp_path / "sender", node)


# --- beside a harvest --------------------------------------------------------------------------


class Live(NamedTuple):
    """A harvest that shipped while it went on, and at its end."""

    harvest: Harvest
    process: Process
    node: Node
    early: Mapping[str, str]  # files that arrived while it went on: SHA-256 by path


@pytest.fixture(scope="module")
def live(tmp_path_factory: pytest.TempPathFactory, world: World) -> Iterator[Live]:
    """Every secret there can be is used, and everything is logged."""
    folder = tmp_path_factory.mktemp("live")
    with new_node("sshd", folder / "node") as node, Socks5Proxy("user", PASSWORD) as proxy:
        lock_up(node.key_file)
        secrets = {
            "SHEAF_TRANSPORT_PROXY": with_password(proxy),
            "SHEAF_TRANSPORT_PASSPHRASE": PASSPHRASE,
            "SHEAF_TRANSPORT_SECRET": SECRET,
        }
        yield harvested_and_shipped(folder, world, node, secrets)
        assert proxy.tunnels > 5


def harvested_and_shipped(
    folder: Path, world: World, node: Node, secrets: Mapping[str, str]
) -> Live:
    """The rest of its media is held back until the first of it has arrived, on request."""
    clock = Clock(folder / "offset")
    clock.at("2030-06-01T10:20:10")
    books = folder / "harvest" / "m" / FILES
    with media_held_after(books) as (media, may_go_on):
        one, table = "extend_workers = 1", node.settings(volume_mb=0.05)
        harvest = Harvest(folder / "harvest", world, media, "--verbose", settings=one, tables=table)
        environment = {**clock.environment, **secrets}
        with Process(folder / "said", harvest.command, **environment) as process:
            wait_until(books.exists, "media in the books")
            wished = run_script("main.py", "ship", "--now", *harvest.place_words)
            assert "the harvest that runs ships them" in wished.stdout, wished.stderr
            clock.at("2030-06-01T10:20:59")
            wait_until(lambda: bool(list(raw(node).glob("*/manifest.json"))), "the first batch")
            early = unpacked(raw(node))
            may_go_on.set()
            assert process.end() == 0, process.log
    return Live(harvest, process, node, early)


def test_what_a_harvest_ships_meanwhile_and_at_its_end_is_all_of_it(live: Live) -> None:
    places, node = live.harvest.places, live.node
    receive(node.folder, SHEAF_TRANSPORT_SECRET=SECRET)
    recorded = {row[PATH]: row[SHA256] for row in records(places.graph)["media"]}
    assert 0 < len(live.early) < len(recorded)
    assert_merged(node.folder, recorded)
    assert media_in(places.media) == {}
    assert len(json_lines(places.media / ".outbox" / "SHIPPED.jsonl")) == 2


def test_nothing_it_writes_holds_a_secret(live: Live) -> None:
    folder, keys = live.harvest.folder.parent, live.node.key_file.parent
    written = [each for each in folder.rglob("*") if each.is_file() and each.parent != keys]
    assert {live.harvest.places.state / "log", folder / "said" / "stderr"} <= set(written)
    assert live.process.log.count("has arrived (hash)") == 2
    for path in written:
        assert_silent(path.read_text(errors="replace"))


# --- ways, and what is told of them ------------------------------------------------------------


class EagerProxy(HttpProxy):
    """What the server says comes together with the proxy's own answer."""

    def _tunnel(self, connection: socket.socket, target: str) -> None:
        host, _, port = target.rpartition(":")
        with self.reach(host, int(port)) as out:
            self.tunnels += 1
            connection.sendall(b"HTTP/1.1 200 Connected\r\nVia: x\r\n\r\n" + out.recv(65536))
            self.relay(connection, out)


@nodes("sshd")
@pytest.mark.parametrize("kind", [Socks5Proxy, HttpProxy, EagerProxy])
def test_it_goes_through_a_proxy(
    node: Node, sender: Sender, kind: type[Proxy], monkeypatch: pytest.MonkeyPatch
) -> None:
    with kind("user", PASSWORD) as proxy:
        monkeypatch.setenv("SHEAF_TRANSPORT_PROXY", with_password(proxy))
        sender.harvest(1000)
        sender.ship()
        assert proxy.tunnels >= 3
    sender.assert_clean()
    assert unpacked(raw(node)) == sender.files


def with_password(proxy: Proxy) -> str:
    return proxy.url.replace("//", f"//user:{QUOTED}@")


def test_it_goes_through_a_proxy_and_over_a_jump_host(
    node: Node, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with new_node("sshd", tmp_path / "jump") as jump, Socks5Proxy("user", PASSWORD) as proxy:
        monkeypatch.setenv("SHEAF_TRANSPORT_PROXY", with_password(proxy))
        place = f"{jump.user}@{jump.host}:{jump.port}"
        sender = Sender(tmp_path / "sender", node, jump=place, connections=1)
        sender.harvest(1000)
        with pytest.raises(Unreachable, match=rf"nothing was sent. Add it, as .*:{jump.port}$"):
            sender.ship()
        with node.known_hosts.open("a") as known:
            known.write(jump.known_hosts.read_text())
        shutil.copy(f"{node.key_file}.pub", f"{jump.key_file}.pub")  # it takes the same key
        sender.ship()
        assert jump.log().count("Accepted publickey") >= 3
    sender.assert_clean()
    assert unpacked(raw(node)) == sender.files


def lock_up(key: Path) -> None:
    words = ["ssh-keygen", "-q", "-p", "-P", "", "-N", PASSPHRASE, "-f", str(key)]
    subprocess.run(words, check=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)


def assert_silent(text: str) -> None:
    assert not [each for each in TOLD_TO_NOBODY if each in text]


@nodes("paramiko")
@pytest.mark.parametrize(
    ("kind", "wrong"),
    [(Socks5Proxy, "proxy"), (HttpProxy, "proxy"), (Socks5Proxy, "key"), (HttpProxy, "node")],
)
def test_no_failure_tells_a_secret(
    sender: Sender,
    node: Node,
    kind: type[Proxy],
    wrong: str,
    impatient: None,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    capfd: pytest.CaptureFixture[str],
) -> None:
    lock_up(node.key_file)
    caplog.set_level(logging.DEBUG)
    with kind("user", "another" if wrong == "proxy" else PASSWORD) as proxy:
        monkeypatch.setenv("SHEAF_TRANSPORT_PROXY", with_password(proxy))
        phrase = f"{PASSPHRASE}{'!' * (wrong == 'key')}"
        monkeypatch.setenv("SHEAF_TRANSPORT_PASSPHRASE", phrase)
        monkeypatch.setenv("SHEAF_TRANSPORT_SECRET", SECRET)
        if wrong == "node":
            node.stop()
        sender.harvest(1000)
        assert_silent(repr(sender.settings))
        assert sender.by_hand() == 3
        said = capfd.readouterr()
    sentences = {
        "proxy": "cannot be reached: the proxy does not help",
        "key": "Error): check the file and SHEAF_TRANSPORT_PASSPHRASE",
        "node": "cannot be reached: the proxy does not help",
    }
    assert sentences[wrong] in said.err
    assert_silent(said.out + said.err + caplog.text)
    for path in sender.state.iterdir():
        assert_silent(path.read_text(errors="replace"))


# --- by hand -----------------------------------------------------------------------------------


@nodes("sshd", "restricted paramiko")
def test_a_look_sends_nothing(
    node: Node, sender: Sender, capfd: pytest.CaptureFixture[str]
) -> None:
    assert sender.by_hand("--list") == 0
    assert capfd.readouterr().out == "there is no batch, and none has been shipped yet\n"
    sender.harvest(500_000)
    assert sender.by_hand("--dry-run") == 0
    said = capfd.readouterr().out
    assert said.startswith("0.5 MB of media would become a batch; 0 wait\n")
    proof = "its own hash" if isinstance(node, SshdNode) else "the receipts of receive.py"
    assert f"proof: {proof}\nnothing was sent (--dry-run)\n" in said
    assert sender.here() == sender.files and list(raw(node).iterdir()) == []
    assert not sender.outbox.exists()


@nodes("paramiko")
def test_a_look_is_possible_while_a_line_is_torn(node: Node, sender: Sender) -> None:
    """By a power cut; the next harvest or shipping takes it out."""
    sender.harvest(1000)
    with (sender.media / FILES).open("a") as books:
        books.write('{"owner":"/c/en/to')
    assert sender.by_hand("--dry-run") == 0
    sender.by_hand()
    sender.assert_clean()


@nodes("restricted paramiko")
def test_what_waits_and_what_has_arrived_is_listed(
    node: Node, sender: Sender, capfd: pytest.CaptureFixture[str]
) -> None:
    sender.harvest(100_000)
    assert sender.by_hand("--now") == 0
    assert capfd.readouterr().out == f"{NOT_YET}\n"
    receive(node.folder)
    sender.harvest(200_000)
    first = sender.batches
    assert sender.by_hand("--batch", first[0]) == 0
    assert sender.by_hand() == 0
    capfd.readouterr()
    assert sender.by_hand("--list") == 0
    waiting, arrived = capfd.readouterr().out.splitlines()[1:]
    assert "waits: 2 of 2 volumes sent, 0 proven" in waiting
    assert first[0] in arrived and "arrived 2" in arrived


@nodes("paramiko")
def test_wrong_words_are_refused(
    node: Node, sender: Sender, capfd: pytest.CaptureFixture[str]
) -> None:
    assert sender.by_hand() == 0
    assert capfd.readouterr().out == "nothing to ship\n"
    sender.harvest(1000)
    for name in ("3f2a9c10-000009-0000", "../raw", ""):
        assert sender.by_hand("--batch", name) == 2
        assert f"there is no batch {name!r}: python main.py ship --list" in capfd.readouterr().err
    assert sender.here() == sender.files
    sender.state.rename(sender.folder / "elsewhere")
    assert sender.by_hand() == 2
    assert "give its --state" in capfd.readouterr().err
    sender.config.write_text("")
    assert sender.by_hand() == 2
    assert "no host is set under [transport], so all stays here" in capfd.readouterr().err
