"""Files, volumes and receipts that are not what they should be, here and on the node."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.faults.injection import small_disk
from tests.support.command import ROOT
from tests.support.node import Node
from tests.support.shipped import (
    NOT_YET,
    Sender,
    assert_merged,
    media_in,
    new_node,
    nodes,
    only_batch,
    raw,
    receive,
    unpacked,
)
from tools import transport
from tools.errors import Unavailable, Unreachable
from tools.shipping import sender as lane
from tools.shipping.pipeline import CHUNK

SIZES = (20_000, 40_000, 60_000)  # in three volumes


@pytest.fixture(autouse=True)
def hurried(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lane, "FIRST_WAIT_S", 0.02)
    monkeypatch.setattr(transport, "LOOK_EVERY_S", 0.02)


@pytest.fixture(params=["restricted paramiko"])
def node(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Node]:
    """One without a shell, unless a test wants others."""
    with new_node(request.param, tmp_path / "node") as node:
        yield node


@pytest.fixture
def sender(tmp_path: Path, node: Node) -> Sender:
    return Sender(tmp_path / "sender", node)


# --- files that are damaged here ---------------------------------------------------------------


def flip(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


def replace_by_link(path: Path) -> None:
    path.unlink()
    path.symlink_to(ROOT / "README.md")


def replace_by_folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


DAMAGES: dict[str, Callable[[Path], object]] = {
    "flipped": flip,
    "truncated": lambda path: os.truncate(path, 100),
    "empty": lambda path: os.truncate(path, 0),
    "longer": lambda path: path.write_bytes(path.read_bytes() + b"more"),
    "vanished": Path.unlink,
    "link": replace_by_link,
    "folder": replace_by_folder,
}


@nodes("paramiko")
def test_damaged_files_are_left_behind_and_the_others_arrive(node: Node, tmp_path: Path) -> None:
    sender = Sender(tmp_path / "sender", node, volume_mb=2)
    _, *lost = sender.harvest(2 * CHUNK, *[5000] * len(DAMAGES))
    sender.harvest(6000)
    for path, damage in zip(lost, DAMAGES.values(), strict=True):
        damage(sender.media / path)
        del sender.files[path]
    sender.ship()
    (manifest,) = raw(node).glob("*/manifest.json")
    told = json.loads(manifest.read_text())["lost"]
    assert [each["path"] for each in told] == lost and all(each["reason"] for each in told)
    assert unpacked(raw(node)) == sender.files
    receive(node.folder)
    assert_merged(node.folder, sender.files)
    assert [each["lost"] for each in sender.shipped] == [len(DAMAGES)]
    aside = {each.stem for each in sender.outbox.rglob("damaged/**/*.png")}
    assert aside == {Path(each).stem for each in lost} - {Path(lost[4]).stem}  # that has vanished


@nodes("paramiko")
def test_a_volume_of_which_nothing_is_left_is_empty(node: Node, tmp_path: Path) -> None:
    sender = Sender(tmp_path / "sender", node, volume_mb=0.01)
    paths = sender.harvest(9000, 9000, 9000)
    for path in paths[:2]:
        (sender.media / path).unlink()
        del sender.files[path]
    sender.ship()
    assert unpacked(raw(node)) == sender.files
    receive(node.folder)
    assert_merged(node.folder, sender.files)


def test_a_file_that_is_damaged_after_it_was_sent_is_not_lost(node: Node, sender: Sender) -> None:
    """The node has it: nobody must take it away again."""
    (path,) = sender.harvest(5000)
    sender.ship()
    flip(next(sender.outbox.glob(f"*/content/{path}")))
    sender.ship()
    assert unpacked(raw(node)) == sender.files
    receive(node.folder)
    sender.ship()
    assert_merged(node.folder, sender.files)


# --- a disk here that gives out ----------------------------------------------------------------


@nodes("paramiko")
def test_an_outbox_without_room_ends_in_a_sentence_and_goes_on_later(
    node: Node, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    sender = Sender(tmp_path / "sender", node)
    with small_disk(sender.media, "4m") as disk:
        sender.harvest(100_000)
        with pytest.raises(Unavailable):
            sender.ship(port=1, timeout_s=1)  # now it is closed and gathered
        disk.fill(but=0)
        assert sender.by_hand() == 5
        said = capfd.readouterr().err
        [sentence] = [line for line in said.splitlines() if line.startswith("sheaf: ")]
        assert "cannot be used (No space left on device)" in sentence and "Traceback" not in said
        disk.make_room()
        sender.ship()
        sender.assert_clean()
    assert unpacked(raw(node)) == sender.files


@nodes("paramiko")
def test_a_line_that_a_power_cut_has_torn_costs_no_other(node: Node, sender: Sender) -> None:
    for size in (1000, 2000):
        sender.harvest(size)
        sender.ship()
        with (sender.outbox / "SHIPPED.jsonl").open("a") as file:
            file.write('{"batch":"3f2a')
    sender.harvest(3000)
    sender.ship()
    assert sender.by_hand("--list") == 0
    with sender.transport() as transport_:
        shipped = transport_._outbox.shipped()
    assert [each["batch"].split("-")[1] for each in shipped] == ["000001", "000002", "000003"]


# --- what receive.py finds ---------------------------------------------------------------------


def test_a_batch_that_comes_twice_is_merged_once(
    node: Node, tmp_path: Path, sender: Sender
) -> None:
    sender.harvest(*SIZES)
    sender.ship()
    batch = only_batch(node)
    shutil.copytree(batch, tmp_path / "again")
    receive(node.folder)
    assert not batch.exists()
    shutil.copytree(tmp_path / "again", batch)
    receive(node.folder)
    assert_merged(node.folder, sender.files)
    sender.ship()
    sender.assert_clean()
    shutil.copytree(tmp_path / "again", batch)
    receive(node.folder)
    assert_merged(node.folder, sender.files)
    assert list(raw(node).iterdir()) == []


def test_a_batch_waits_for_its_volumes_while_a_later_one_is_merged(
    node: Node, tmp_path: Path, sender: Sender
) -> None:
    sender.harvest(*SIZES)
    sender.ship()
    first = only_batch(node)
    later = sender.harvest(1000)
    sender.ship()
    (first / "00002.tar").rename(tmp_path / "held back")
    assert f"{first.name} waits for 00002.tar" in receive(node.folder)
    assert media_in(node.folder / "m").keys() == set(later)
    (tmp_path / "held back").rename(first / "00002.tar")
    receive(node.folder)
    assert_merged(node.folder, sender.files)
    sender.ship()
    sender.assert_clean()


@pytest.mark.parametrize(
    ("node", "damage"),
    [
        ("restricted", "flipped"),
        ("restricted paramiko", "truncated"),
        ("restricted paramiko", "vanished"),
    ],
    indirect=["node"],
)
def test_a_volume_that_is_damaged_on_the_node_is_sent_again(
    node: Node, sender: Sender, damage: str
) -> None:
    sender.harvest(*SIZES)
    sender.ship()
    DAMAGES[damage](only_batch(node) / "00002.tar")
    assert "00002.tar" in receive(node.folder, exit_code=0 if damage == "vanished" else 6)
    assert str(sender.ship()) == NOT_YET
    assert sender.here() == sender.files
    receive(node.folder)
    sender.ship()
    sender.assert_clean()
    assert_merged(node.folder, sender.files)


def test_a_batch_in_quarantine_stays_here_and_stops_no_other(node: Node, sender: Sender) -> None:
    first = sender.harvest(1000)
    sender.ship()
    receive(node.folder, exit_code=6, SHEAF_TRANSPORT_SECRET="which we do not have")
    sender.harvest(2000)
    (name,) = sender.batches
    with pytest.raises(Unreachable, match=f"{name} into quarantine: .*not signed.* --batch {name}"):
        sender.ship()
    assert sender.here() == sender.files
    receive(node.folder)
    with pytest.raises(Unreachable, match="quarantine"):
        sender.ship()
    assert sender.here().keys() == set(first)
    assert str(sender.ship(name)) == NOT_YET  # the old receipt counts no more
    receive(node.folder)
    sender.ship()
    sender.assert_clean()
    assert_merged(node.folder, sender.files)


# --- signatures --------------------------------------------------------------------------------


def test_a_forged_receipt_erases_nothing(
    node: Node, sender: Sender, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("SHEAF_TRANSPORT_SECRET", "hmac-s3cret")
    sender.harvest(1000)
    sender.ship()
    batch = only_batch(node)
    manifest = (batch / "manifest.json").read_bytes()
    receipt = {"format": 1, "batch": batch.name, "state": "merged", "reason": ""}
    receipt["manifest_sha256"] = hashlib.sha256(manifest).hexdigest()
    forged = node.folder / "received" / f"{batch.name}.json"
    forged.parent.mkdir()
    forged.write_text(json.dumps(receipt))
    for signature in (None, "", "00" * 32, (batch / "manifest.json.hmac").read_text()):
        if signature is not None:
            forged.with_name(f"{forged.name}.hmac").write_text(signature)
        assert str(sender.ship()) == NOT_YET
        assert sender.here() == sender.files
    assert "is not signed with our secret" in caplog.text
    receive(node.folder, SHEAF_TRANSPORT_SECRET="hmac-s3cret")
    sender.ship()
    sender.assert_clean()
    assert_merged(node.folder, sender.files)
