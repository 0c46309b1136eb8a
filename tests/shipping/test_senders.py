"""Several machines ship to one node: each into its own place, and whose files are safe is told."""

from __future__ import annotations

import tracemalloc
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path

import paramiko
import pytest

from tests.shipping.test_node import connected
from tests.support.node import Node
from tests.support.shipped import (
    HARVEST,
    NOT_YET,
    Sender,
    assert_merged,
    json_lines,
    media_in,
    new_node,
    nodes,
    raw,
    receive,
)
from tools import transport
from tools.errors import StopHarvest, Unreachable
from tools.media.ledger import Ledger, node_harvest
from tools.media.ledger_lines import FILES, SEARCHES, json_line
from tools.shipping import sender as lane
from tools.shipping.batch import Batch
from tools.shipping.outbox import Outbox

SIZES = (0, 511, 30_000, 120_000)
EARLY, LATE = "2024-11-17T12:00:00Z", "2024-11-17T13:00:00Z"


@pytest.fixture(autouse=True)
def hurried(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lane, "FIRST_WAIT_S", 0.02)
    monkeypatch.setattr(transport, "LOOK_EVERY_S", 0.02)


@pytest.fixture(params=["restricted"])
def node(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Node]:
    with new_node(request.param, tmp_path / "node") as node:
        yield node


def machine(tmp_path: Path, node: Node, name: str, **changes: object) -> Sender:
    """One of a cluster, for which the node has a folder and a secret."""
    (raw(node) / name).mkdir()
    (node.folder / "secrets").mkdir(mode=0o700, exist_ok=True)
    secret = tmp_path / f"{name}-secret"
    for file in (secret, node.folder / "secrets" / name):
        file.write_text(f"the secret of {name}\n")
        file.chmod(0o600)
    sender = Sender(tmp_path / name, node, sender=name, secret_file=secret, **changes)
    sender.id = node_harvest(HARVEST, name)
    return sender


@pytest.fixture
def oak(tmp_path: Path, node: Node) -> Sender:
    return machine(tmp_path, node, "oak")


@pytest.fixture
def elm(tmp_path: Path, node: Node) -> Sender:
    return machine(tmp_path, node, "elm")


# --- a node's own id ---------------------------------------------------------------------------


def test_each_node_has_an_id_that_follows_from_the_harvest_and_its_name(tmp_path: Path) -> None:
    ids = [node_harvest(each, name) for each in (HARVEST, "1" * 32) for name in ("oak", "elm")]
    assert len({HARVEST, *ids}) == 5
    assert node_harvest(HARVEST, "oak") == ids[0]
    assert all(len(each) == 32 and set(each) <= set("0123456789abcdef") for each in ids)
    assert Ledger(tmp_path / "m").claim(ids[0]) and Ledger(tmp_path / "m").claim(ids[0])
    assert not Ledger(tmp_path / "m").claim(ids[1]), "it is another node's"


# --- two of them -------------------------------------------------------------------------------


@nodes("restricted", "sshd", "restricted paramiko")
def test_two_ship_into_one_m_and_each_reads_its_own_receipts(
    node: Node, oak: Sender, elm: Sender
) -> None:
    oak.harvest(*SIZES)
    oak.harvest(10)
    elm.files = {"not yet": ""}  # so that its owners have other names
    elm.harvest(*SIZES)
    elm.files.pop("not yet")
    for sender in (oak, elm):
        sender.ship()
    assert {each.parent.name for each in raw(node).glob("*/*-*")} == {"oak", "elm"}
    receive(node.folder)
    for sender in (oak, elm):
        sender.ship()
        sender.assert_clean()
        (line,) = sender.shipped
        assert line["batch"].startswith(f"{sender.id[:8]}-000001-")
    assert_merged(node.folder, {**oak.files, **elm.files})


@pytest.mark.parametrize("is_late", [False, True], ids=["in order", "late"])
def test_what_was_harvested_anew_by_another_replaces_what_the_lost_one_had(
    node: Node, oak: Sender, elm: Sender, is_late: bool
) -> None:
    """Also if that comes afterwards. The lost one has counted further."""
    oak.time, elm.time = EARLY, LATE
    (lost,) = oak.harvest(10)
    (anew,) = elm.harvest(20)
    assert lost == anew
    for sender in (elm, oak) if is_late else (oak, elm):
        sender.ship()
        receive(node.folder)
        sender.ship()
        sender.assert_clean()
    assert media_in(node.folder / "m") == elm.files
    (line,) = json_lines(node.folder / "m" / FILES)
    assert line["batch"].startswith("elm/") and line["sha256"] == elm.files[anew]
    searched = [each["owner"] for each in json_lines(node.folder / "m" / SEARCHES)]
    assert searched.count(line["owner"]) == 1


def test_the_secret_of_another_is_told_and_nothing_is_lost(
    tmp_path: Path, node: Node, oak: Sender, elm: Sender
) -> None:
    oak.harvest(*SIZES)
    elm.files = {"not yet": ""}
    elm.harvest(10)
    elm.files.pop("not yet")
    (tmp_path / "oak-secret").write_text("the secret of elm\n")
    for sender in (oak, elm):
        sender.ship()
    said = receive(node.folder, exit_code=6)
    assert "is not signed with the secret that its sender has here" in said
    assert str(oak.ship()) == NOT_YET, "the receipt is signed with another secret"
    elm.ship()
    elm.assert_clean()
    assert oak.here() == oak.files
    (tmp_path / "oak-secret").write_text("the secret of oak\n")
    (batch,) = oak.batches
    oak.ship(batch)
    receive(node.folder)
    oak.ship(batch)
    assert_merged(node.folder, {**oak.files, **elm.files})


def test_a_sender_for_whom_the_node_has_no_folder_is_told(node: Node, oak: Sender) -> None:
    oak.harvest(10)
    (raw(node) / "oak").rmdir()
    with pytest.raises(Unreachable, match=f"has no folder {node.remote}/raw/oak: docs/shipping"):
        oak.ship()
    assert oak.by_hand("--dry-run") == 2
    (raw(node) / "oak").mkdir()
    assert oak.by_hand("--dry-run") == 0
    assert list((raw(node) / "oak").iterdir()) == []


def test_what_is_planted_over_sftp_leads_nowhere(node: Node, oak: Sender, elm: Sender) -> None:
    """By one whose account may write into another's folder, as here: only links are its way."""
    oak.harvest(*SIZES)
    oak.ship()
    (batch,) = oak.batches
    with connected(node) as client, closing(client.open_sftp()) as sftp:
        place = f"{node.remote}/raw/elm"
        sftp.symlink(f"../oak/{batch}", f"{place}/{batch}")
        sftp.symlink("../oak", f"{place}/{batch[:8]}-999999-5c1e")
        sftp.symlink("oak", f"{node.remote}/raw/ash")
        for name in (f"{place}/..", f"{place}/../.", "/../.."):
            with pytest.raises((OSError, paramiko.SSHException)):
                sftp.mkdir(name)
        sftp.mkdir(f"{place}/...")
        sftp.mkdir(f"{place}/Elm")
    said = receive(node.folder)
    assert said.count("is merged") == 1 and f"oak/{batch} is merged" in said
    oak.ship()
    oak.assert_clean()
    assert_merged(node.folder, oak.files)


# --- who is told -------------------------------------------------------------------------------


class Crash(BaseException):
    """As a kill: nothing here handles it."""


def owners(sender: Sender) -> list[str]:
    book = sender.media / SEARCHES
    return [each["owner"] for each in json_lines(book)]


@nodes("restricted", "sshd")
def test_the_owners_of_what_has_arrived_are_told_once_it_is_proven(node: Node, oak: Sender) -> None:
    oak.harvest(*SIZES)
    oak.harvest(10, 20)
    expected, told = owners(oak), list[Sequence[str]]()
    with oak.transport(on_arrived=told.append) as transport_:
        is_proven_at_once = bool(transport_.ship().batches)
        assert told == ([expected] if is_proven_at_once else []), "each of them once"
        receive(node.folder)
        transport_.ship()
        assert told == [expected]
        transport_.ship()
    oak.assert_clean()
    assert told == [expected]


@nodes("restricted", "sshd")
@pytest.mark.parametrize("error", [Crash, StopHarvest])
def test_after_a_crash_between_the_proof_and_the_call_it_is_called_again(
    node: Node, oak: Sender, error: type[BaseException], monkeypatch: pytest.MonkeyPatch
) -> None:
    oak.harvest(*SIZES)
    expected, told = owners(oak), list[Sequence[str]]()

    def crash(_: object) -> None:
        raise error("now")

    def ship_and_crash() -> None:
        with oak.transport(on_arrived=crash) as transport_:
            transport_.ship()
            receive(node.folder)
            transport_.ship()

    with pytest.raises(error):
        ship_and_crash()
    receive(node.folder)  # it may be merged meanwhile
    with oak.transport(on_arrived=told.append) as transport_:
        transport_.ship()
        assert told == [expected]
        transport_.ship()
    oak.assert_clean()
    assert told == [expected]


def test_after_a_crash_between_the_call_and_the_end_it_may_come_twice(
    node: Node, oak: Sender, monkeypatch: pytest.MonkeyPatch
) -> None:
    oak.harvest(*SIZES)
    oak.ship()
    receive(node.folder)
    told: list[Sequence[str]] = []

    def crash(*_: object) -> None:
        raise Crash

    with monkeypatch.context() as patch, pytest.raises(Crash):
        patch.setattr(Outbox, "forget", crash)
        with oak.transport(on_arrived=told.append) as transport_:
            transport_.ship()
    with oak.transport(on_arrived=told.append) as transport_:
        transport_.ship()
    assert len(told) == 2 and told[0] == told[1]
    oak.assert_clean()


def test_an_owner_of_whom_a_file_was_lost_is_not_told_to_be_safe(node: Node, oak: Sender) -> None:
    damaged, _ = oak.harvest(30_000, 10)
    oak.harvest(20)
    expected, told = owners(oak), list[Sequence[str]]()
    (oak.media / damaged).write_bytes(b"?" * 30_000)
    with oak.transport(on_arrived=told.append) as transport_:
        transport_.ship()
        receive(node.folder)
        transport_.ship()
    assert told == [expected[1:]]


def test_a_hundred_thousand_files_take_little_memory(tmp_path: Path) -> None:
    """Their owners, and not what else stands in the books."""
    content = tmp_path / "1/content"
    content.mkdir(parents=True)
    uris = [f"/c/en/some_concept_{number}" for number in range(50_000)]
    rest = {"title": "a" * 300}
    (content / SEARCHES).write_bytes(b"".join(json_line({"owner": u, **rest}) for u in uris))
    files = (json_line({"owner": u, "path": f"{u}/{n}", **rest}) for u in uris for n in (0, 1))
    (content / FILES).write_bytes(b"".join(files))

    batch = Batch(tmp_path / "1", "now", [], [])
    tracemalloc.start()
    try:
        assert batch.owners() == uris
        assert tracemalloc.get_traced_memory()[1] < 20 * 2**20
    finally:
        tracemalloc.stop()
