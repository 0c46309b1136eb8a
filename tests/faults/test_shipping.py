"""Media on their way to the node: whatever happens to the connection or there, nothing is lost, and
nothing is erased here before the node has it."""

from __future__ import annotations

import shlex
import socket
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from queue import SimpleQueue
from typing import Any

import paramiko
import pytest

from tests.faults.harvests import Harvest
from tests.faults.injection import Clock, Process, SmallDisk, main_py, run, small_disk, wait_until
from tests.faults.slow import media_held_after
from tests.soak.compare import PATH, SHA256, Essence
from tests.support.command import records
from tests.support.node import Node, ParamikoNode, SshdNode, failing_sftp, new_key, public
from tests.support.shipped import (
    NOT_YET,
    PROVING,
    TELLING,
    WAYS,
    Sender,
    assert_merged,
    new_node,
    nodes,
    only_batch,
    raw,
    receive,
    receiving,
    unpacked,
)
from tests.support.worlds.conceptnet import World
from tests.support.worlds.wires import CutWire, StallWire, TcpWire
from tools import transport
from tools.assist.watchdogs import Backlog
from tools.engine.committer import Committer
from tools.engine.monitor import Monitor
from tools.engine.pools import Pools
from tools.engine.receiver import receiver
from tools.engine.stage import Done, Found, Stage
from tools.engine.threads import ThreadExecutor
from tools.errors import Interrupted, NoRoom, Unavailable, Unreachable
from tools.media.ledger_lines import FILES
from tools.shipping import sender as lane
from tools.shipping import sftp
from tools.shipping import ssh as login
from tools.shipping.pipeline import CHUNK
from tools.transport import Shipped

MB = 1_000_000
SIZES = (0, 1, 511, 512, 30_000, 513, 120_000)  # with the books that is three volumes
PATIENCE_S = 30.0


@pytest.fixture(params=WAYS, autouse=True)
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """By the program ssh, and by paramiko."""
    monkeypatch.setattr(Sender, "usual", {"ssh": request.param})


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


@pytest.fixture
def begins(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """From which byte on volumes were sent."""
    found, send = [], sftp.Node.send

    def noted(self: sftp.Node, path: str, chunks: Iterable[bytes], begin: int = 0) -> None:
        if path.endswith(".tar.part"):
            found.append(begin)
        send(self, path, chunks, begin)

    monkeypatch.setattr(sftp.Node, "send", noted)
    return found


def shipped_within(sender: Sender, seconds: float = PATIENCE_S, **changes: Any) -> Shipped:
    """It must come to an end, even if to a bad one."""
    results: SimpleQueue[Shipped | Exception] = SimpleQueue()

    def ship() -> None:
        try:
            results.put(sender.ship(**changes))
        except Exception as error:
            results.put(error)

    thread = threading.Thread(target=ship, daemon=True)
    thread.start()
    thread.join(seconds)
    sender.stop.set()
    assert not thread.is_alive(), f"it did not end within {seconds} s"
    sender.stop.clear()
    if isinstance(result := results.get(), Exception):
        raise result
    return result


# --- the whole way -----------------------------------------------------------------------------


@nodes(*PROVING)
def test_with_a_shell_files_leave_when_their_hash_is_told(node: Node, sender: Sender) -> None:
    sender.harvest(*SIZES)
    sender.harvest(1000)
    assert str(sender.ship()).startswith("11 files in 1 batch arrived")
    sender.assert_clean()
    assert len(list(only_batch(node).glob("*.tar"))) == 3
    assert unpacked(raw(node)) == sender.files
    sender.harvest(2000)
    sender.ship()
    receive(node.folder)
    assert_merged(node.folder, sender.files)
    assert [each["proof"] for each in sender.shipped] == ["hash", "hash"]
    assert str(sender.ship()) == "nothing to ship"


@nodes(*TELLING)
def test_without_a_shell_nothing_is_erased_before_a_receipt(node: Node, sender: Sender) -> None:
    sender.harvest(*SIZES)
    sender.harvest(1000)
    for _ in range(2):
        assert str(sender.ship()) == NOT_YET
        assert sender.here() == sender.files and sender.shipped == []
        assert unpacked(raw(node)) == sender.files
    receive(node.folder)
    assert sender.here() == sender.files
    sender.harvest(2000)
    assert str(sender.ship()).endswith(f"; {NOT_YET}")
    receive(node.folder)
    sender.ship()
    sender.assert_clean()
    assert_merged(node.folder, sender.files)
    assert [each["proof"] for each in sender.shipped] == ["receipt", "receipt"]


@nodes("restricted paramiko")
def test_a_receipt_that_comes_in_time_is_waited_for(node: Node, sender: Sender) -> None:
    sender.harvest(1000)
    with receiving(node.folder):
        assert sender.ship(receipt_s=PATIENCE_S).batches == 1
    sender.assert_clean()


@nodes("paramiko")
def test_a_stop_ends_it_and_the_rest_goes_the_next_time(node: Node, tmp_path: Path) -> None:
    sender = Sender(tmp_path / "sender", node, connections=1)
    sender.harvest(40_000, 40_000, 40_000)
    with sender.transport() as transport_, pytest.raises(Interrupted, match="the next time"):
        transport_.ship(show=lambda _: sender.stop.set())
    assert len(sender.here()) >= 2
    sender.stop.clear()
    sender.ship()
    sender.assert_clean()
    assert unpacked(raw(node)) == sender.files


@nodes("paramiko")
def test_what_is_finished_meanwhile_goes_the_next_time(node: Node, sender: Sender) -> None:
    first = sender.harvest(1000, 2000)
    growing = sender.media / "en/cow/image/0.part"
    growing.parent.mkdir(parents=True)
    growing.write_bytes(b"still on its way")

    def at_quiet_point(work: Callable[[], None]) -> None:
        work()
        second.extend(sender.harvest(3000))

    second: list[str] = []
    with sender.transport(at_quiet_point=at_quiet_point) as transport_:
        transport_.ship()
    assert unpacked(raw(node)).keys() == set(first)
    assert sender.here().keys() == {*second, "en/cow/image/0.part"}
    sender.ship()
    assert unpacked(raw(node)) == sender.files
    assert growing.read_bytes() == b"still on its way"


# --- the connection ----------------------------------------------------------------------------


@nodes("sshd", "paramiko")
def test_a_volume_that_is_cut_off_is_continued(
    node: Node, tmp_path: Path, begins: list[int], caplog: pytest.LogCaptureFixture
) -> None:
    """Of what was carried a server has not written all when it notices the end."""
    with CutWire(node.host, node.port, after_bytes=4 * MB, cuts=2) as wire:
        sender = Sender(tmp_path / "sender", node, port=wire.port, volume_mb=20)
        sender.harvest(10 * MB)
        local: list[bool] = []

        def look(size: int) -> None:
            if size > 0:  # it is being sent
                local.append(any(sender.outbox.glob("*/content/en/*/image/0.png")))

        with sender.transport() as transport_:
            transport_.ship(show=look)
        assert wire.cut == 2 and caplog.text.count("transport waits") == 2
        assert len(begins) == 3 and 0 == begins[0] < begins[1] < begins[2]
        assert wire.sent < 2 * 4 * MB + (10 * MB - begins[2]) + MB / 2
    assert all(local)
    assert unpacked(raw(node)) == sender.files
    sender.assert_clean()


@nodes("paramiko")
@pytest.mark.parametrize("after", [500, 3_000, 5_000, 8_000])
def test_a_small_batch_survives_a_cut_wherever_it_comes(
    node: Node, tmp_path: Path, after: int
) -> None:
    """Amid the greeting, the questions, the manifest."""
    with CutWire(node.host, node.port, after, cuts=2) as wire:
        sender = Sender(tmp_path / "sender", node, port=wire.port)
        sender.harvest(1000)
        sender.ship()
        assert wire.cut == 2
    assert unpacked(raw(node)) == sender.files
    sender.assert_clean()


@pytest.mark.parametrize("buffer", [None, 65536], ids=["wide", "narrow"])
def test_a_dead_connection_is_given_up_and_the_next_one_goes_on(
    node: Node,
    tmp_path: Path,
    buffer: int | None,
    begins: list[int],
    impatient: None,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Over a long line the system takes less than a server would: then already writing waits."""
    if buffer is not None:
        monkeypatch.setattr(login, "_fast_transport", narrow(login._fast_transport, buffer))
    with NarrowStall(node.host, node.port, 2 * MB) as wire:
        sender = Sender(tmp_path / "sender", node, port=wire.port, volume_mb=20, timeout_s=1)
        sender.harvest(6 * MB)
        with pytest.raises(Unavailable, match="nothing arrived for 1 s"):
            shipped_within(sender, 2 * 1 + 4)  # the rest is for slow computers
        wait_until(lambda: clients() == [], "the end of its threads")
        assert sender.here() == sender.files
        wire.release()
        sender.ship()
        assert len(begins) == 2 and begins[1] > 0, "it was begun again"
    assert unpacked(raw(node)) == sender.files
    sender.assert_clean()


class NarrowStall(StallWire):
    """It takes little that it cannot pass on."""

    def __init__(self, host: str, port: int, after_bytes: int) -> None:
        super().__init__(host, port, after_bytes)
        self._listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)


def narrow(opened: Callable[..., paramiko.Transport], size: int) -> Callable[..., Any]:
    def opened_narrow(way: socket.socket, **options: Any) -> paramiko.Transport:
        way.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, size)
        return opened(way, **options)

    return opened_narrow


def clients() -> list[threading.Thread]:
    """Threads of the sender; those of a node are servers."""
    kinds = (lane.Sender, paramiko.Transport)
    found = [each for each in threading.enumerate() if isinstance(each, kinds)]
    return [each for each in found if not getattr(each, "server_mode", False)]


# --- writes that are refused -------------------------------------------------------------------


def test_a_write_that_sshd_refuses_late_is_noticed(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """It seeks once before its first write, and once for each: this is the last but four."""
    (tmp_path / "node").mkdir()
    server = failing_in_second_session(tmp_path / "node", "lseek:error=EIO:when=18")
    with SshdNode(tmp_path / "node", sftp_server=server) as node:
        sender = Sender(tmp_path / "sender", node, volume_mb=20, connections=1)
        assert_a_refusal_is_survived(sender, node)
    assert "does not take" in caplog.text


def test_a_disk_that_does_not_keep_what_it_was_given_is_noticed(
    tmp_path: Path, begins: list[int], caplog: pytest.LogCaptureFixture
) -> None:
    """Its hash would be right: it is read from memory."""
    (tmp_path / "node").mkdir()
    server = failing_in_second_session(tmp_path / "node", "fsync:error=EIO")
    with SshdNode(tmp_path / "node", sftp_server=server) as node:
        sender = Sender(tmp_path / "sender", node, volume_mb=20)
        sender.harvest(2 * CHUNK)
        sender.ship()
    assert "does not take" in caplog.text and begins == [0, 0]
    assert unpacked(raw(node)) == sender.files


def failing_in_second_session(folder: Path, what: str) -> list[str]:
    """The first one only looks whether there is room."""
    (folder / "sessions").mkdir()
    faulty, script = failing_sftp(what), folder / "sftp-server"
    script.write_text(
        f"#!/bin/sh\ncd {shlex.quote(str(folder))}/sessions\n"
        f"mkdir 1 2>/dev/null && exec {faulty[-1]}\n"
        f"mkdir 2 2>/dev/null && exec {shlex.join(faulty)}\n"
        f"exec {faulty[-1]}\n"
    )
    script.chmod(0o755)
    return [str(script)]


@nodes("paramiko", "restricted paramiko")
@pytest.mark.parametrize("chunk", [16, 20], ids=["among the last", "the last"])
def test_a_write_that_paramiko_refuses_late_is_noticed(
    node: ParamikoNode, tmp_path: Path, chunk: int
) -> None:
    node.refuse_writes_after, node.refusals = chunk * CHUNK, 1
    sender = Sender(tmp_path / "sender", node, volume_mb=20, connections=1)
    assert_a_refusal_is_survived(sender, node)
    assert node.refused == 1


def assert_a_refusal_is_survived(sender: Sender, node: Node) -> None:
    """Even where nobody tells a hash, the volume is right when it has its name."""
    sender.harvest(20 * CHUNK)
    shipped_within(sender)
    assert unpacked(raw(node)) == sender.files
    receive(node.folder)
    sender.ship()
    sender.assert_clean()
    assert_merged(node.folder, sender.files)


@nodes("paramiko")
def test_a_node_that_refuses_every_time_is_left_alone_in_the_end(
    node: ParamikoNode, tmp_path: Path
) -> None:
    node.refuse_writes_after = 3 * CHUNK
    sender = Sender(tmp_path / "sender", node, volume_mb=20)
    sender.harvest(6 * CHUNK)
    with pytest.raises(Unavailable, match=r"does not take .*Failure"):
        shipped_within(sender)
    assert sender.here() == sender.files
    assert not list(raw(node).glob("*/*.tar"))
    node.refuse_writes_after = None
    sender.ship()
    assert unpacked(raw(node)) == sender.files


# --- who is spoken to --------------------------------------------------------------------------


def another_key(node: Node) -> str:
    other = new_key(node.known_hosts.with_name("another"))
    return f"[{node.host}]:{node.port} {public(other)}"


def key_without_port(node: Node) -> str:
    return f"{node.host} {public(node.host_key)}"


@nodes("sshd", "paramiko")
@pytest.mark.parametrize(
    ("known", "sentence"),
    [
        (another_key, "shows another host key .* nothing was sent. Compare the fingerprint"),
        (lambda _: "", r"does not stand in .*: nothing was sent. Add it, as \[127.0.0.1\]:"),
        (key_without_port, r"does not stand in .*: nothing was sent. Add it, as \[127.0.0.1\]:"),
    ],
    ids=["another", "unknown", "of another port"],
)
def test_a_host_that_is_not_known_gets_nothing(
    node: Node, tmp_path: Path, known: Callable[[Node], str], sentence: str
) -> None:
    with TcpWire(node.host, node.port) as wire:
        sender = Sender(tmp_path / "sender", node, port=wire.port)
        sender.harvest(100_000)
        node.known_hosts.write_text(known(node).replace(f":{node.port} ", f":{wire.port} "))
        with pytest.raises(Unreachable, match=sentence):
            sender.ship()
        assert wire.sent < 10_000 and wire.connections == 1
    assert list(raw(node).iterdir()) == []
    assert sender.here() == sender.files
    assert "ublickey" not in node.log(), "not even a key was shown"


@nodes("paramiko")
def test_the_harvest_goes_on_when_the_node_is_not_known(
    node: Node, tmp_path: Path, world: World, quiet: Essence
) -> None:
    """For a harvest it is a line in its log; by hand it is an exit code."""
    clock, books = Clock(tmp_path / "offset"), tmp_path / "harvest" / "m" / FILES
    clock.at("2030-06-01T11:20:00")
    table = node.settings(**Sender.usual)
    node.known_hosts.write_text("")
    with media_held_after(books) as (media, may_go_on):
        one = "extend_workers = 1"
        harvest = Harvest(tmp_path / "harvest", world, media, settings=one, tables=table)
        with Process(tmp_path / "said", harvest.command, **clock.environment) as process:
            wait_until(books.exists, "media in the books")
            clock.at("2030-06-01T12:00:00")
            process.wait_for("nothing was sent. Add it, as [127.0.0.1]:")
            before = len(media.paths)
            may_go_on.set()
            assert process.end() == 0, process.log
            assert process.log.count("nothing was sent. Add it, as") == 2, "then, and at its end"
        assert len(media.paths) > before
    graph = records(harvest.places.graph)
    assert graph["relation"] == quiet.graph["relation"]
    assert {row[PATH]: row[SHA256] for row in graph["media"]} == quiet.files
    code, by_hand = run(tmp_path / "by hand", main_py("ship", *harvest.place_words))
    assert code == 3 and "nothing was sent. Add it, as" in by_hand.sentence
    assert list(raw(node).iterdir()) == []


# --- room on the node --------------------------------------------------------------------------


@pytest.fixture
def small_node(tmp_path: Path) -> Iterator[tuple[Node, SmallDisk]]:
    (tmp_path / "node").mkdir()
    node = SshdNode(tmp_path / "node")
    with small_disk(raw(node), "8m") as disk, node:
        yield node, disk


def test_a_batch_for_which_the_node_has_no_room_is_not_begun(
    tmp_path: Path, small_node: tuple[Node, SmallDisk]
) -> None:
    node, disk = small_node
    disk.fill(but=3 * MB)
    with TcpWire(node.host, node.port) as wire:
        sender = Sender(tmp_path / "sender", node, port=wire.port, volume_mb=20)
        sender.harvest(5 * MB)
        with pytest.raises(NoRoom, match=r"has 3.0 MB left and batch .* needs 5.0 MB: make room"):
            sender.ship()
        assert wire.sent < 20_000
        assert sender.here() == sender.files
        disk.make_room()
        sender.ship()
    assert unpacked(raw(node)) == sender.files


def test_a_node_that_becomes_full_is_named_and_given_back_what_it_holds(
    tmp_path: Path, small_node: tuple[Node, SmallDisk]
) -> None:
    node, disk = small_node
    sender = Sender(tmp_path / "sender", node, volume_mb=20)
    sender.harvest(5 * MB)

    def fill(_shown: int) -> None:
        if not (disk.folder / "aside-ballast").exists():
            disk.fill(but=MB)

    with sender.transport() as transport_, pytest.raises(NoRoom, match="is full: make room there"):
        transport_.ship(show=fill)
    assert sender.here() == sender.files
    assert list(only_batch(node).iterdir()) == [], "receive.py needs the room to go on"
    disk.make_room()
    sender.ship()
    assert unpacked(raw(node)) == sender.files
    sender.assert_clean()


# --- a node that is away -----------------------------------------------------------------------


@nodes("paramiko")
def test_while_the_node_is_away_media_wait_at_a_limit_and_then_leave_in_order(
    tmp_path: Path, node: Node, impatient: None
) -> None:
    sender = Sender(tmp_path / "sender", node, volume_mb=1)
    node.stop()
    told: list[str] = []
    with engine(tmp_path, sender) as (pools, monitors), sender.transport() as transport_:
        backlog = Backlog(
            *(monitors, lambda: transport_.backlog, 250_000),
            *(lambda *text: told.extend(text), lambda: True),
        )
        for _ in range(3):  # slots
            backlog()
            assert not told
            sender.harvest(100_000)
            transport_.complete()  # it weighs what was harvested
            with pytest.raises(Unavailable, match="cannot be reached"):
                transport_.ship()
        backlog()
        assert told[0] == "the outbox is full" and len(sender.batches) == 3
        pools.discover(Found("fetch", ["/c/en/a", "/c/en/b"]), Found("extend", ["/c/en/c"]))
        for monitor in monitors:
            monitor.start()
        wait_until(lambda: pools.done(monitors[0].stage) == 2, "fetching in spite of it")
        assert pools.count("to_extend") == 1
        node.start()
        waiting = sender.batches
        transport_.ship()
        backlog()
        wait_until(lambda: pools.done(monitors[1].stage) == 1, "new media")
    arrived = {each.parent.name: each.stat().st_mtime_ns for each in raw(node).glob("*/man*")}
    assert sorted(arrived, key=lambda name: arrived[name]) == waiting
    assert unpacked(raw(node)) == sender.files
    sender.assert_clean()


@contextmanager
def engine(folder: Path, sender: Sender) -> Iterator[tuple[Pools, list[Monitor]]]:
    """Real monitors over workers that have nothing to do."""
    stages = [Stage("fetch", 1), Stage("extend", 1, folder=sender.media)]
    with closing(Pools(folder / "pools.db", stages)) as pools:
        committer = Committer(pools, lambda records: None, print)
        committer.start()
        workers = {each.name: lambda _: Done("finished") for each in stages}
        executor = ThreadExecutor(stages, workers)
        monitors = [Monitor(each, pools, executor, committer, 1, print) for each in stages]
        executor.open(receiver(pools, monitors))
        try:
            yield pools, monitors
        finally:
            for monitor in monitors:
                monitor.stop()
            assert committer.close(PATIENCE_S)
