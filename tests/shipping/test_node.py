"""The nodes and wires that shipping is tested with: they are what they say they are."""

from __future__ import annotations

import base64
import hashlib
import os
import shlex
import socket
import subprocess
import threading
import time
import tomllib
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any

import paramiko
import pytest
import socks

from tests.faults.injection import wait_until
from tests.support.needs import program
from tests.support.node import Node, ParamikoNode, SshdNode, children, failing_sftp, new_key
from tests.support.worlds.faults import SocketServer
from tests.support.worlds.proxies import HttpProxy, Proxy, Socks5Proxy
from tests.support.worlds.wires import CutWire, DelayWire, StallWire, TcpWire

CIPHERS = ("aes128-gcm@openssh.com", "aes256-gcm@openssh.com")
BROKEN = (EOFError, OSError, paramiko.SSHException)  # what paramiko says of one that is gone
PIECE = bytes(range(256)) * 128


def restricted(tmp: Path) -> Node:
    return SshdNode(tmp, shell=False)


KINDS: dict[str, Callable[[Path], Node]] = {
    "sshd": SshdNode,
    "restricted": restricted,
    "paramiko": ParamikoNode,
}


@pytest.fixture(params=KINDS)
def node(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Node]:
    with KINDS[request.param](tmp_path) as node:
        yield node


@contextmanager
def connected(
    node: Node,
    key: Path | None = None,
    cipher: str = CIPHERS[0],
    port: int | None = None,
    sock: socket.socket | paramiko.Channel | None = None,
) -> Iterator[paramiko.SSHClient]:
    def transport(*arguments: Any, **more: Any) -> paramiko.Transport:
        transport = paramiko.Transport(*arguments, **more)
        transport.get_security_options().ciphers = (cipher,)
        return transport

    with paramiko.SSHClient() as client:
        client.load_host_keys(str(node.known_hosts))
        client.connect(
            node.host,
            port or node.port,
            node.user,
            key_filename=str(key or node.key_file),
            look_for_keys=False,
            allow_agent=False,
            timeout=60,
            sock=sock,
            transport_factory=transport,
        )
        yield client


def openssh(node: Node, name: str, *words: str) -> subprocess.CompletedProcess[str]:
    """ssh or sftp, which read nothing of whoever runs the tests."""
    settings = {
        "IdentityFile": node.key_file,
        "IdentitiesOnly": "yes",
        "UserKnownHostsFile": node.known_hosts,
        "GlobalKnownHostsFile": "/dev/null",
        "BatchMode": "yes",
        "Port": node.port,
        "User": node.user,
    }
    flags = [f"-o{key}={value}" for key, value in settings.items()]
    command = [program(name, "openssh-client"), "-F", "none", *flags, *words]
    return subprocess.run(command, input="", capture_output=True, text=True, timeout=60)


# --- nodes -------------------------------------------------------------------------------------


@pytest.mark.parametrize("cipher", CIPHERS)
def test_paramiko_writes_and_renames_on_it(node: Node, cipher: str) -> None:
    with connected(node, cipher=cipher) as client, closing(client.open_sftp()) as sftp:
        with sftp.open(f"{node.remote}/raw/1.part", "wb") as file:
            file.write(PIECE)
        sftp.posix_rename(f"{node.remote}/raw/1.part", f"{node.remote}/raw/1")
        assert sftp.listdir(f"{node.remote}/raw") == ["1"]
        assert sftp.stat(f"{node.remote}/raw/1").st_size == len(PIECE)
        with pytest.raises(FileNotFoundError):
            sftp.stat(f"{node.remote}/raw/1.part")
    assert (node.folder / "raw/1").read_bytes() == PIECE


@pytest.mark.parametrize("cipher", CIPHERS)
def test_openssh_puts_and_gets(node: Node, cipher: str, tmp_path: Path) -> None:
    (tmp_path / "here").write_bytes(PIECE)
    lines = f"put {tmp_path}/here {node.remote}/raw/1\nget {node.remote}/raw/1 {tmp_path}/back\n"
    (tmp_path / "batch").write_text(lines)
    done = openssh(node, "sftp", "-c", cipher, "-b", f"{tmp_path}/batch", node.host)
    assert done.returncode == 0, done.stderr
    assert (node.folder / "raw/1").read_bytes() == (tmp_path / "back").read_bytes() == PIECE


@pytest.mark.parametrize("kind", ["sshd", "paramiko"])
def test_a_node_with_a_shell_hashes(kind: str, tmp_path: Path) -> None:
    def asked(command: str) -> tuple[str, int]:
        _, said, _ = client.exec_command(command, timeout=60)
        return said.read().decode(), said.channel.recv_exit_status()

    with KINDS[kind](tmp_path) as node, connected(node) as client:
        name = f"{node.remote}/raw/a 'b'"
        (node.folder / "raw/a 'b'").write_bytes(PIECE)
        expected = (f"{hashlib.sha256(PIECE).hexdigest()}  {name}\n", 0)
        quoted = shlex.quote(name)
        assert asked(f"sha256sum -- {quoted} || shasum -a 256 -- {quoted}") == expected
        assert asked("sha256sum /dev/null")[0].startswith(hashlib.sha256().hexdigest())
        assert asked(f"sha256sum {node.remote}/raw/none") == ("", 1)


def test_a_restricted_sshd_answers_every_command_with_sftp(tmp_path: Path) -> None:
    with SshdNode(tmp_path, shell=False) as node:
        (node.folder / "raw/1").write_bytes(PIECE)
        done = openssh(node, "ssh", node.host, f"sha256sum {node.remote}/raw/1; touch raw/2")
        assert hashlib.sha256(PIECE).hexdigest() not in done.stdout
        assert [each.name for each in (node.folder / "raw").iterdir()] == ["1"]
        with connected(node) as client:
            transport = client.get_transport()
            assert transport is not None
            with pytest.raises(paramiko.ChannelException, match="prohibited"):
                transport.open_channel("direct-tcpip", (node.host, node.port), (node.host, 1))


def test_a_restricted_paramiko_refuses_commands(tmp_path: Path) -> None:
    with (
        ParamikoNode(tmp_path, shell=False) as node,
        connected(node) as client,
        pytest.raises(paramiko.SSHException),
    ):
        client.exec_command("sha256sum /srv/raw/1", timeout=60)


def test_whoever_is_in_the_chroot_sees_nothing_else(tmp_path: Path) -> None:
    if os.getuid() != 0:
        pytest.skip("only root can have a chroot")
    with (
        SshdNode(tmp_path, shell=False) as node,
        connected(node) as client,
        closing(client.open_sftp()) as sftp,
    ):
        assert node.remote == "/srv"
        assert sftp.listdir("/") == ["srv"]
        assert sorted(sftp.listdir("/srv/../../srv")) == ["m", "raw"]
        sftp.symlink("/etc/passwd", "/srv/raw/passwd")
        with pytest.raises(FileNotFoundError):
            sftp.stat("/srv/raw/passwd")


def test_only_its_own_key_opens_it(node: Node, tmp_path: Path) -> None:
    other = new_key(tmp_path / "other")
    for _ in range(6):
        with pytest.raises(paramiko.AuthenticationException), connected(node, key=other):
            pass
    with connected(node):
        pass


def test_another_host_key_is_noticed(node: Node, tmp_path: Path) -> None:
    node.host_key = new_key(tmp_path / "another")
    node.known_hosts.unlink()
    node.be_known_at(node.port)
    with pytest.raises(paramiko.BadHostKeyException), connected(node):
        pass


def patient(sftp: paramiko.SFTPClient) -> None:
    """For a while: what was asked just before the end is never answered, and paramiko waits."""
    channel = sftp.get_channel()
    assert channel is not None
    channel.settimeout(20)


def test_it_goes_away_and_comes_back(node: Node) -> None:
    with connected(node) as client, closing(client.open_sftp()) as sftp:
        assert sorted(sftp.listdir(node.remote)) == ["m", "raw"]
        patient(sftp)
        node.stop()
        with pytest.raises(BROKEN):
            sftp.listdir(node.remote)
    with pytest.raises(OSError), connected(node):
        pass
    node.stop()
    node.start()
    with connected(node):
        pass


def test_sshd_leaves_no_process(tmp_path: Path) -> None:
    before = offspring(os.getpid())
    with SshdNode(tmp_path) as node, connected(node) as client:
        client.exec_command(f"touch {node.remote}/began; exec sleep 1000", timeout=60)
        wait_until((node.folder / "began").exists, "a command on the node")
        of_node = offspring(os.getpid()) - before
        node.stop()  # while the client is there: of one that is gone sshd lets its command go on
    assert len(of_node) >= 3, "a listener, a connection, a command"
    wait_until(lambda: not any(map(is_alive, of_node)), "their end")


def offspring(pid: int) -> set[int]:
    found = children(pid)
    return {*found, *(each for child in found for each in offspring(child))}


def is_alive(pid: int) -> bool:
    """A zombie is not: it waits for whoever adopts orphans here."""
    with suppress(OSError):
        return Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2][0] != "Z"
    return False


def test_its_log_tells_who_came(node: Node) -> None:
    with connected(node):
        wait_until(lambda: "ublickey" in node.log(), "a line in the log")


def test_its_settings_are_a_table(node: Node) -> None:
    table = tomllib.loads(node.settings(port=4711, proxy="socks5://a:b@c:1", user=None))
    assert table == {
        "transport": {
            "host": node.host,
            "port": 4711,
            "key_file": str(node.key_file),
            "known_hosts": str(node.known_hosts),
            "folder": node.remote,
            "proxy": "socks5://a:b@c:1",
        }
    }
    assert node.key_file.stat().st_mode & 0o777 == 0o600
    ports = [line.split()[0] for line in node.known_hosts.read_text().splitlines()]
    assert ports == [f"[127.0.0.1]:{node.port}", "[127.0.0.1]:4711"]


# --- writes that are refused -------------------------------------------------------------------


def refusing_sshd(tmp: Path) -> Node:
    return SshdNode(tmp, sftp_server=failing_sftp("lseek:error=EIO:when=4"))


def refusing_paramiko(tmp: Path) -> Node:
    return ParamikoNode(tmp, refuse_writes_after=2 * len(PIECE), refusals=1)


@pytest.mark.parametrize("kind", [refusing_sshd, refusing_paramiko])
def test_one_write_is_refused_in_the_middle_of_a_file(
    kind: Callable[[Path], Node], tmp_path: Path
) -> None:
    """So its size is right and its content is not, and only the answer to that write tells."""
    refused = []
    with kind(tmp_path) as node, connected(node) as client, closing(client.open_sftp()) as sftp:
        with sftp.open(f"{node.remote}/raw/1", "wb") as file:
            for number in range(5):
                try:
                    file.write(PIECE)
                except OSError:
                    refused.append(number)
                    file.seek((number + 1) * len(PIECE))
        assert refused == [2]
        assert (node.folder / "raw/1").read_bytes() == PIECE * 2 + bytes(len(PIECE)) + PIECE * 2


def test_every_write_is_refused_beyond_a_byte(tmp_path: Path) -> None:
    with (
        ParamikoNode(tmp_path, refuse_writes_after=len(PIECE)) as node,
        connected(node) as client,
        closing(client.open_sftp()) as sftp,
        sftp.open(f"{node.remote}/raw/1", "wb") as file,
    ):
        file.write(PIECE)
        for _ in range(2):
            with pytest.raises(OSError, match="Failure"):
                file.write(PIECE)
        assert node.refused == 2
        node.refuse_writes_after = None
        file.write(PIECE)


# --- ways to a node ----------------------------------------------------------------------------


def by_http(proxy: HttpProxy, node: Node) -> socket.socket:
    """Not by PySocks: what it reads after the proxy's first line, SSH's greeting too, it loses."""
    way = socket.create_connection(("127.0.0.1", proxy.port), timeout=60)
    credentials = base64.b64encode(b"user:password").decode()
    lines = [
        f"CONNECT {node.host}:{node.port} HTTP/1.1",
        f"Proxy-Authorization: Basic {credentials}",
    ]
    way.sendall("\r\n".join([*lines, "", ""]).encode())
    head = b""
    while not head.endswith(b"\r\n\r\n"):
        head += way.recv(1)
    assert head.startswith(b"HTTP/1.1 200")
    return way


def by_socks(proxy: Socks5Proxy, node: Node) -> socket.socket:
    way: socket.socket = socks.create_connection(
        (node.host, node.port),
        timeout=60,
        proxy_type=socks.SOCKS5,
        proxy_addr="127.0.0.1",
        proxy_port=proxy.port,
        proxy_username="user",
        proxy_password="password",
    )
    return way


@pytest.mark.parametrize(("kind", "connect"), [(HttpProxy, by_http), (Socks5Proxy, by_socks)])
def test_ssh_goes_through_a_proxy_with_a_password(
    kind: type[Proxy], connect: Callable[[Proxy, Node], socket.socket], tmp_path: Path
) -> None:
    with (
        SshdNode(tmp_path) as node,
        kind("user", "password") as proxy,
        connect(proxy, node) as way,
        connected(node, sock=way) as client,
        closing(client.open_sftp()) as sftp,
    ):
        assert sorted(sftp.listdir(node.remote)) == ["m", "raw"]
        assert proxy.tunnels == 1


def test_ssh_jumps_over_a_node_with_a_shell(tmp_path: Path) -> None:
    with SshdNode(tmp_path) as node, connected(node) as jump:
        transport = jump.get_transport()
        assert transport is not None
        way = transport.open_channel("direct-tcpip", (node.host, node.port), (node.host, 0))
        with connected(node, sock=way) as client, closing(client.open_sftp()) as sftp:
            assert sorted(sftp.listdir(node.remote)) == ["m", "raw"]


# --- wires -------------------------------------------------------------------------------------


class Echo(SocketServer):
    """Sends back what it hears, and remembers how much that was of each connection."""

    def __init__(self) -> None:
        super().__init__()
        self.heard: list[int] = []

    def serve(self, connection: socket.socket) -> None:
        number = len(self.heard)
        self.heard.append(0)
        while data := connection.recv(1 << 18):
            self.heard[number] += len(data)
            connection.sendall(data)


@pytest.fixture
def echo() -> Iterator[Echo]:
    with Echo() as echo:
        yield echo


def client_of(wire: TcpWire) -> socket.socket:
    return socket.create_connection(("127.0.0.1", wire.port), timeout=60)


def exchange(client: socket.socket, data: bytes) -> bytes:
    """Send it all while what comes back is read, as much or until the end."""
    sending = threading.Thread(target=client.sendall, args=(data,))
    sending.start()
    answer = bytearray()
    while len(answer) < len(data) and (piece := client.recv(1 << 18)):
        answer += piece
    sending.join(20)
    return bytes(answer)


def test_a_long_wire_delays_a_round_trip(echo: Echo) -> None:
    with DelayWire("127.0.0.1", echo.port, 0.2) as wire, client_of(wire) as client:
        began = time.monotonic()
        assert exchange(client, b"hello") == b"hello"
        assert time.monotonic() - began >= 0.2
        assert (wire.sent, wire.received) == (5, 5)


def test_a_long_wire_carries_as_much_as_a_short_one(echo: Echo) -> None:
    """Piece by piece, each with its round trip, this would take a minute."""
    data = os.urandom(1 << 20) * 64
    with DelayWire("127.0.0.1", echo.port, 0.2) as wire, client_of(wire) as client:
        began = time.monotonic()
        assert exchange(client, data) == data
        assert time.monotonic() - began < 30
        assert wire.sent == wire.received == len(data)


def test_a_wire_breaks_as_often_as_it_was_told(echo: Echo) -> None:
    data = bytes(10_000)
    with CutWire("127.0.0.1", echo.port, 4_000, cuts=2) as wire:
        for _ in range(2):
            with client_of(wire) as client:
                assert len(exchange(client, data)) <= 4_000
        with client_of(wire) as client:
            assert exchange(client, data) == data
        wait_until(lambda: echo.heard == [4_000, 4_000, 10_000])
        assert (wire.cut, wire.sent) == (2, 18_000)


def test_a_dead_wire_stays_open_and_lives_again(echo: Echo) -> None:
    with StallWire("127.0.0.1", echo.port, 4_000) as wire, client_of(wire) as client:
        assert exchange(client, bytes(3_000)) == bytes(3_000)
        client.sendall(bytes(3_000))
        assert wire.stalled.wait(20)
        wait_until(lambda: echo.heard == [4_000])
        client.settimeout(0.1)
        with pytest.raises(TimeoutError):
            client.recv(1)
        with client_of(wire) as late:
            late.sendall(b"hello")
            late.settimeout(0.1)
            with pytest.raises(TimeoutError):
                late.recv(1)
        wire.release()
        client.settimeout(20)
        assert exchange(client, bytes(3_000))[:3_000] == bytes(3_000)
        wait_until(lambda: sum(echo.heard) == 9_005)


@pytest.mark.parametrize("wire", [CutWire, StallWire])
def test_a_wire_is_known_to_the_client_and_breaks_under_ssh(
    wire: type[CutWire | StallWire], tmp_path: Path
) -> None:
    with SshdNode(tmp_path) as node, wire(node.host, node.port, 200_000) as between:
        node.settings(port=between.port)
        with connected(node, port=between.port) as client, closing(client.open_sftp()) as sftp:
            channel = sftp.get_channel()
            assert channel is not None
            channel.settimeout(0.5)
            with pytest.raises(BROKEN), sftp.open(f"{node.remote}/raw/1", "wb") as file:
                for _ in range(20):
                    file.write(PIECE)
        assert 0 < (node.folder / "raw/1").stat().st_size <= 200_000


def test_a_wire_ends_when_nobody_is_behind_it() -> None:
    with TcpWire("127.0.0.1", 1) as wire, client_of(wire) as client:
        assert client.recv(1) == b""
