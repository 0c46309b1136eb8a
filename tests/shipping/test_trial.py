"""`ship --dry-run` tries out all that shipping needs of a node, and leaves nothing there."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.faults.injection import small_disk
from tests.support.node import Node, ParamikoNode, SshdNode
from tests.support.ports import closed_port
from tests.support.shipped import WAYS, Sender, new_node, nodes, raw, receive, unpacked
from tests.support.worlds.wires import CutWire
from tools.commands import batches as shipping
from tools.errors import NoRoom, Unavailable, Unreachable, UsageError
from tools.shipping import sender as lane

KINDS = ("sshd", "restricted", "paramiko", "restricted plain paramiko")


@pytest.fixture(params=WAYS, autouse=True)
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """By the program ssh, and by paramiko."""
    monkeypatch.setattr(Sender, "usual", {"ssh": request.param})


@pytest.fixture(autouse=True)
def hurried(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lane, "FIRST_WAIT_S", 0.02)


@pytest.fixture(params=["paramiko"])
def node(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Node]:
    with new_node(request.param, tmp_path / "node") as node:
        yield node


@pytest.fixture
def sender(tmp_path: Path, node: Node) -> Sender:
    return Sender(tmp_path / "sender", node)


def test_a_node_without_any_extension_gets_its_media(tmp_path: Path) -> None:
    """Also where an attempt before has left a volume of another size and another manifest."""
    with new_node("plain paramiko", tmp_path / "node") as node:
        sender = Sender(tmp_path / "sender", node)
        sender.harvest(1000)
        with pytest.raises(Unavailable):
            sender.ship(port=1, timeout_s=1)  # now it is closed
        (name,) = sender.batches
        (raw(node) / name).mkdir()
        for old in ("00001.tar", "manifest.json"):
            (raw(node) / name / old).write_bytes(b"old")
        sender.ship()
        assert unpacked(raw(node)) == sender.files
        assert [each.name for each in raw(node).glob("*/*.part")] == []
        receive(node.folder)
    sender.assert_clean()


@nodes(*KINDS)
def test_it_says_what_the_node_can_and_leaves_nothing(
    node: Node, sender: Sender, capfd: pytest.CaptureFixture[str]
) -> None:
    before = sorted(node.folder.rglob("*"))
    trial = shipping.try_out(sender.settings)
    assert sorted(node.folder.rglob("*")) == before
    is_plain = isinstance(node, ParamikoNode) and not node.knows_posix_rename
    assert trial.place == f"{node.user}@{node.host}:{node.port}"
    assert (trial.free is None) == isinstance(node, ParamikoNode)
    assert trial.replaces_files == (not is_plain)
    assert sender.by_hand("--dry-run") == 0
    said = capfd.readouterr().out
    assert "a file was written there as a trial and removed" in said
    assert ("it knows no posix-rename@openssh.com" in said) == is_plain


@nodes("sshd", "paramiko")
def test_without_raw_the_settings_are_wrong(
    node: Node, sender: Sender, capfd: pytest.CaptureFixture[str]
) -> None:
    raw(node).rmdir()
    assert sender.by_hand("--dry-run") == UsageError.exit_code
    wanted = f"has no folder {node.remote}/raw: docs/shipping.md says how\n"
    assert capfd.readouterr().err.endswith(wanted)
    assert not raw(node).exists()


def test_a_raw_that_is_read_only_is_told(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "node").mkdir()
    node = SshdNode(tmp_path / "node")
    with small_disk(raw(node), "4m") as disk:
        disk.remount("ro")  # which root heeds too
        with node:
            sender = Sender(tmp_path / "sender", node)
            assert sender.by_hand("--dry-run") == Unreachable.exit_code
    said = capfd.readouterr().err
    assert "lets us make no folder" in said and f"who may write into {node.remote}/raw" in said
    assert len(said.splitlines()) == 1


def test_a_full_disk_is_told(tmp_path: Path) -> None:
    (tmp_path / "node").mkdir()
    node = SshdNode(tmp_path / "node")
    with small_disk(raw(node), "4m") as disk:
        disk.fill(but=0)
        with node, pytest.raises(NoRoom, match=r"is full: make room there$"):
            shipping.try_out(Sender(tmp_path / "sender", node).settings)
        disk.make_room()
        assert list(raw(node).iterdir()) == []


def test_a_quota_that_is_used_up_is_told(node: ParamikoNode, sender: Sender) -> None:
    """There is room, but not for us."""
    node.refuse_writes_after = 1000
    with pytest.raises(Unreachable, match=r"does not take .*: Failure: .* whether a quota is used"):
        shipping.try_out(sender.settings)
    assert list(raw(node).iterdir()) == []


@nodes("restricted paramiko")
def test_a_node_that_keeps_something_else_is_told(node: ParamikoNode, sender: Sender) -> None:
    node.gives_back = bytes(shipping.TRIAL_BYTES)
    with pytest.raises(Unreachable, match="does not give back what was written"):
        shipping.try_out(sender.settings)
    assert list(raw(node).iterdir()) == []


def test_what_it_wrote_is_removed_though_the_connection_was_cut(node: Node, tmp_path: Path) -> None:
    """The cut comes amid the file: what is left is removed over another connection."""
    with CutWire(node.host, node.port, after_bytes=30_000, cuts=1) as wire:
        sender = Sender(tmp_path / "sender", node, port=wire.port)
        with pytest.raises(Unreachable, match="see who may write"):
            shipping.try_out(sender.settings)
        assert wire.cut == 1
    assert list(raw(node).iterdir()) == []


def test_the_trial_is_nothing_to_receive_py(node: Node, sender: Sender) -> None:
    (raw(node) / f"{shipping.TRIAL}0123").mkdir()
    (raw(node) / f"{shipping.TRIAL}0123/file").write_bytes(b"?")
    assert receive(node.folder) == ""
    assert (raw(node) / f"{shipping.TRIAL}0123/file").exists()


def test_a_node_that_is_away_is_one_ordinary_sentence(tmp_path: Path, node: Node) -> None:
    sender = Sender(tmp_path / "sender", node, port=closed_port())
    wanted = (
        r"cannot be reached \(Connection refused\): see whether it is running, and whether host"
    )
    with pytest.raises(Unavailable, match=wanted):
        shipping.try_out(sender.settings)
