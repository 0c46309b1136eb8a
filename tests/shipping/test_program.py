"""The program `ssh` as the way to the node: it tells what paramiko tells, and never stays."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from tests.faults.injection import Process, wait_until
from tests.support.needs import program
from tests.support.node import Node, SshdNode, children, failing_sftp, new_key, public
from tests.support.ports import closed_port
from tests.support.shipped import WAYS, Sender, new_node, raw, unpacked
from tests.support.worlds.faults import SocketServer
from tests.support.worlds.wires import StallWire, TcpWire
from tools.errors import Unavailable, Unreachable
from tools.shipping import sender as lane
from tools.shipping import sftp
from tools.shipping.program import is_meant
from tools.shipping.settings import AUTO, PARAMIKO, PROGRAM, TransportSettings

MB = 1_000_000


@pytest.fixture
def node(tmp_path: Path) -> Iterator[Node]:
    with new_node("sshd", tmp_path / "node") as node:
        yield node


@pytest.fixture(params=WAYS)
def settings(request: pytest.FixtureRequest, tmp_path: Path, node: Node) -> TransportSettings:
    return Sender(tmp_path / "sender", node, ssh=request.param, timeout_s=5).settings.transport


def programs(port: int, parent: int | None = None) -> list[int]:
    """Processes of ssh that speak to this port: of a parent, or of all."""
    everybody = [int(each.name) for each in Path("/proc").glob("[0-9]*")]
    found = []
    for pid in everybody if parent is None else children(parent):
        words = words_of(pid)
        if words and words[0].endswith("/ssh") and str(port) in words:
            found.append(pid)
    return found


def words_of(pid: int) -> list[str]:
    try:
        return Path(f"/proc/{pid}/cmdline").read_text().split("\0")
    except OSError:
        return []


# --- which way it is ---------------------------------------------------------------------------


def test_by_itself_it_is_the_program(tmp_path: Path, node: Node) -> None:
    settings = Sender(tmp_path / "sender", node).settings.transport
    assert settings.ssh == AUTO and is_meant(settings)
    with closing(sftp.Node(settings)):
        assert len(programs(node.port, os.getpid())) == 1
    assert programs(node.port) == []
    with closing(sftp.Node(replace(settings, ssh=PARAMIKO))):
        assert programs(node.port) == []


@pytest.mark.parametrize(
    "change",
    [
        {"proxy_url": "socks5://127.0.0.1:1"},
        {"jump": "me@127.0.0.1:1"},
        {"passphrase": "x"},
        {"key_file": Path('/tmp/a "key"')},
        {"known_hosts": Path("/tmp/$HOME/known_hosts")},
    ],
    ids=lambda change: next(iter(change)),
)
def test_what_it_cannot_do_is_paramikos(change: dict[str, object]) -> None:
    settings = TransportSettings(host="h", known_hosts=Path("/k"), key_file=Path("/f"))
    assert is_meant(settings)
    assert not is_meant(replace(settings, **change))  # type: ignore[arg-type]


def test_without_the_program_it_is_paramiko(
    tmp_path: Path, node: Node, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = Sender(tmp_path / "sender", node).settings.transport
    monkeypatch.setenv("PATH", str(tmp_path))
    with closing(sftp.Node(settings)) as there:
        assert there.size_of(f"{node.remote}/raw") is not None
    with pytest.raises(Unreachable, match="there is no program ssh here: apt-get install"):
        sftp.Node(replace(settings, ssh=PROGRAM))


# --- what is told ------------------------------------------------------------------------------


def test_a_key_that_is_refused_is_told(settings: TransportSettings, tmp_path: Path) -> None:
    with pytest.raises(Unreachable, match="does not let us in: check user and key"):
        sftp.Node(replace(settings, key_file=new_key(tmp_path / "other")))


def test_a_key_that_cannot_be_used_is_told(settings: TransportSettings, tmp_path: Path) -> None:
    key = new_key(tmp_path / "other")
    words = ["ssh-keygen", "-q", "-p", "-P", "", "-N", "hunter2", "-f", str(key)]
    subprocess.run(words, check=True, stdout=subprocess.DEVNULL)
    with pytest.raises(Unreachable, match=r"cannot be used as a private key .* check the file"):
        sftp.Node(replace(settings, key_file=key))
    key.chmod(0o644)
    with pytest.raises(Unreachable, match="others can read it: chmod 600"):
        sftp.Node(replace(settings, key_file=key))
    with pytest.raises(Unreachable, match=r"cannot read .*none: No such file"):
        sftp.Node(replace(settings, key_file=tmp_path / "none"))


def test_known_hosts_that_are_not_there_are_told(
    settings: TransportSettings, tmp_path: Path
) -> None:
    with pytest.raises(Unreachable, match=r"cannot read .*none: No such file"):
        sftp.Node(replace(settings, known_hosts=tmp_path / "none"))


def test_a_pattern_makes_no_host_known(
    settings: TransportSettings, node: Node, tmp_path: Path
) -> None:
    (tmp_path / "known").write_text(f"* {public(node.host_key)}")
    with pytest.raises(Unreachable, match=r"does not stand in .* Add it, as \[127.0.0.1\]:"):
        sftp.Node(replace(settings, known_hosts=tmp_path / "known"))


def test_nobody_there_is_told(settings: TransportSettings) -> None:
    away = r"cannot be reached \(%s\): see whether it is running"
    with pytest.raises(Unavailable, match=away % "Connection refused"):
        sftp.Node(replace(settings, port=closed_port()))
    with pytest.raises(Unavailable, match=away % ".*not known.*|.*[Rr]esol.*"):
        sftp.Node(replace(settings, host="nobody.invalid"))


class Mute(SocketServer):
    """Says this, or nothing, and then nothing more."""

    says = b""

    def serve(self, connection: socket.socket) -> None:
        connection.sendall(self.says)
        while connection.recv(65536):
            pass


def test_a_server_that_says_nothing_is_given_up(settings: TransportSettings) -> None:
    with Mute() as mute, pytest.raises(Unavailable, match="cannot be reached: "):
        sftp.Node(replace(settings, port=mute.port, timeout_s=1))


def test_a_server_that_hangs_up_is_told(settings: TransportSettings, node: Node) -> None:
    class Rude(SocketServer):
        def serve(self, connection: socket.socket) -> None:
            connection.recv(1)

    with Rude() as rude, pytest.raises(Unavailable, match="cannot be reached: "):
        sftp.Node(replace(settings, port=rude.port))


def test_a_node_without_sftp_is_told(settings: TransportSettings, node: Node) -> None:
    assert isinstance(node, SshdNode)
    text = node._config.read_text().replace("Subsystem sftp", "Subsystem other")
    node._config.write_text(text)
    node.stop()
    node.start()
    with pytest.raises(Unavailable, match="offers no SFTP: "):
        sftp.Node(settings)


def script(folder: Path, line: str) -> list[str]:
    """Instead of a server for files."""
    (folder / "node").mkdir()
    (folder / "server").write_text(f"#!/bin/sh\n{line}\n")
    (folder / "server").chmod(0o755)
    return [str(folder / "server")]


def test_a_shell_that_chatters_is_told(tmp_path: Path) -> None:
    """As a start-up file does that prints something."""
    server = script(tmp_path, "echo welcome to this computer; cat >/dev/null")
    with SshdNode(tmp_path / "node", sftp_server=server) as node:
        for way in WAYS:
            sender = Sender(tmp_path / way, node, ssh=way)
            with pytest.raises(Unavailable, match="Garbage packet received"):
                sftp.Node(sender.settings.transport)


def test_a_node_that_goes_away_is_told_by_the_next_question(
    settings: TransportSettings, node: Node
) -> None:
    """Not taken for one that may run no commands."""
    with closing(sftp.Node(settings)) as there:
        assert there.can_hash()
        node.stop()
        with pytest.raises(Unavailable):
            there.size_of("/")
        with pytest.raises(Unavailable):
            there.can_hash()


@pytest.mark.parametrize("name", ["a key", "50%d", "~", "k,ey #1"])
def test_odd_names_of_files_are_no_trouble(
    settings: TransportSettings, node: Node, tmp_path: Path, name: str
) -> None:
    folder = tmp_path / name
    folder.mkdir()
    key, known = shutil.copy(node.key_file, folder), shutil.copy(node.known_hosts, folder)
    changed = replace(settings, key_file=Path(key), known_hosts=Path(known))
    with closing(sftp.Node(changed)) as there:
        assert there.can_hash()


# --- agents ------------------------------------------------------------------------------------


@contextmanager
def agent(folder: Path, key: Path) -> Iterator[str]:
    place = str(folder / "agent")
    command = [program("ssh-agent", "openssh-client"), "-D", "-a", place]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    try:
        wait_until(lambda: Path(place).exists(), "an agent")
        add = ["ssh-add", "-q", str(key)]
        subprocess.run(add, check=True, env={**os.environ, "SSH_AUTH_SOCK": place})
        yield place
    finally:
        process.terminate()
        process.wait(20)


def test_a_key_of_an_agent(
    settings: TransportSettings, node: Node, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with agent(tmp_path, node.key_file) as place:
        monkeypatch.setenv("SSH_AUTH_SOCK", place)
        with closing(sftp.Node(replace(settings, key_file=None, agent=True))) as there:
            assert there.can_hash()
        other = new_key(tmp_path / "other")
        with pytest.raises(Unreachable, match="does not let us in"):
            sftp.Node(replace(settings, key_file=other, agent=False))


# --- it never stays behind ---------------------------------------------------------------------


def sending(folder: Path, sender: Sender, port: int, began: Callable[[], bool]) -> Process:
    """`ship`, when it sends."""
    process = Process(folder, sender.command(), SHEAF_TRANSPORT_SECRET="hmac-s3cret")
    wait_until(lambda: began() or not process.is_running, "its sending")
    assert process.is_running, process.log
    assert programs(port, process.pid)
    return process


def test_a_kill_takes_it_along(tmp_path: Path, node: Node) -> None:
    """Its line is dead too: nobody tells it that the session is over."""
    for is_dead in (False, True):
        with StallWire(node.host, node.port, 2 * MB) as wire:
            sender = Sender(
                tmp_path / f"{is_dead}", node, port=wire.port, volume_mb=20, timeout_s=1
            )
            sender.harvest(6 * MB)
            with sending(
                tmp_path / f"said {is_dead}", sender, wire.port, wire.stalled.is_set
            ) as us:
                found = programs(wire.port)
                assert us.kill() == -signal.SIGKILL
                if not is_dead:
                    wire.release()
                wait_until(lambda: programs(wire.port) == [], "its end", 30)
            assert found
            wire.release()
            sender.ship()
        sender.assert_clean()
    assert len(list(raw(node).glob("*/manifest.json"))) == 2


def test_its_command_line_and_environment_hold_no_secret(tmp_path: Path, node: Node) -> None:
    with StallWire(node.host, node.port, 2 * MB) as wire:
        sender = Sender(tmp_path / "sender", node, port=wire.port, volume_mb=20)
        sender.harvest(6 * MB)
        with sending(tmp_path / "said", sender, wire.port, wire.stalled.is_set):
            (pid,) = programs(wire.port)
            environment = Path(f"/proc/{pid}/environ").read_text()
            assert "hmac-s3cret" not in environment + " ".join(words_of(pid))
            names = {each.partition("=")[0] for each in environment.split("\0") if each}
            assert names <= {"HOME", "PATH", "SSH_AUTH_SOCK"}


def test_when_it_is_killed_the_volume_is_continued(
    tmp_path: Path, node: Node, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(lane, "FIRST_WAIT_S", 0.02)
    killed: list[int] = []

    def kill(shown: int) -> None:
        if shown > 0 and not killed and any(raw(node).glob("*/*.part")):
            killed.extend(programs(wire.port, os.getpid()))
            for pid in killed:
                os.kill(pid, signal.SIGKILL)

    with TcpWire(node.host, node.port) as wire:
        sender = Sender(tmp_path / "sender", node, port=wire.port, volume_mb=50, connections=1)
        sender.harvest(30 * MB)
        with sender.transport() as transport:
            transport.ship(show=kill)
    assert len(killed) == 1 and "the connection was cut off" in caplog.text
    sender.assert_clean()
    assert unpacked(raw(node)) == sender.files
    assert programs(wire.port) == []


def test_when_it_is_killed_while_the_node_hashes_the_node_is_asked_again(
    tmp_path: Path, node: Node, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is not taken for a node that may run no commands."""
    settings = Sender(tmp_path / "sender", node, ssh=PROGRAM).settings.transport
    monkeypatch.setattr(sftp, "HASHERS", ("touch {0}.began; exec sleep 100",))

    def kill() -> None:
        wait_until((node.folder / "raw.began").exists, "a hash")
        for pid in programs(node.port, os.getpid()):
            os.kill(pid, signal.SIGKILL)

    with closing(sftp.Node(settings)) as there:
        killer = threading.Thread(target=kill)
        killer.start()
        with pytest.raises(Unavailable, match=r"does not give the hash of .*cut off"):
            there.hash_of(f"{node.remote}/raw", 0)
        killer.join(60)


def test_a_node_that_floods_what_nobody_reads_keeps_nobody(tmp_path: Path) -> None:
    server = script(tmp_path, f"yes >&2 & exec {failing_sftp('')[-1]}")
    with SshdNode(tmp_path / "node", sftp_server=server) as node:
        sender = Sender(tmp_path / "sender", node, ssh=PROGRAM, timeout_s=2)
        with closing(sftp.Node(sender.settings.transport)) as there:
            there.write(f"{node.remote}/raw/1", bytes(MB))
            assert there.size_of(f"{node.remote}/raw/1") == MB
        assert programs(node.port) == []
