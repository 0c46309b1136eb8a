"""The table "When something is wrong" of docs/shipping.md: what it says is what one is told."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from threading import Event

import pytest

from tests.faults.injection import small_disk
from tests.support.command import ROOT
from tests.support.node import Node, ParamikoNode, SshdNode, new_key, public
from tests.support.shipped import Sender, new_node, raw, receive
from tools import transport
from tools.assist.watchdogs import Backlog
from tools.commands.batches import try_out
from tools.errors import HarvestError
from tools.jobs.shipping import transport_of
from tools.media.ledger import Ledger
from tools.shipping import sender as lane

GUIDE = (ROOT / "docs/shipping.md").read_text(encoding="utf-8")
TABLE = re.findall(r"^\| (.+?) \| .* \|$", GUIDE, re.MULTILINE)[1:]


@pytest.fixture(autouse=True)
def hurried(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first failure ends a shipping."""
    monkeypatch.setattr(lane, "TRIES", 1)
    monkeypatch.setattr(transport, "LOOK_EVERY_S", 0.02)


@pytest.fixture
def node(tmp_path: Path) -> Iterator[Node]:
    with new_node("restricted paramiko", tmp_path / "node") as node:
        yield node


def told(sender: Sender) -> str:
    with pytest.raises(HarvestError) as error:
        sender.ship()
    return str(error.value)


def another_key(node: Node, sender: Sender) -> str:
    other = new_key(node.known_hosts.with_name("another"))
    node.known_hosts.write_text(f"[{node.host}]:{node.port} {public(other)}")
    return told(sender)


def unknown(node: Node, sender: Sender) -> str:
    node.known_hosts.write_text("")
    return told(sender)


def not_let_in(node: Node, sender: Sender) -> str:
    node.key_file.unlink()
    new_key(node.key_file)
    return told(sender)


def away(node: Node, sender: Sender) -> str:
    node.stop()
    return told(sender)


def no_folder(node: Node, sender: Sender) -> str:
    raw(node).rmdir()
    return told(sender)


def not_writable(node: Node, sender: Sender) -> str:
    assert isinstance(node, ParamikoNode)
    node.refuse_writes_after = 0
    with pytest.raises(HarvestError) as error:
        try_out(sender.settings)
    return str(error.value)


def full(_node: Node, sender: Sender) -> str:
    folder = sender.folder / "other"
    folder.mkdir()
    other = SshdNode(folder)
    with small_disk(raw(other), "4m") as disk:
        disk.fill(but=1000)
        with other:
            sender.config.write_text(other.settings())
            return told(sender)


def quarantined(node: Node, sender: Sender) -> str:
    sender.ship()
    receive(node.folder, exit_code=6, SHEAF_TRANSPORT_SECRET="which we do not have")
    return told(sender)


def not_signed(
    node: Node, sender: Sender, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> str:
    sender.ship()
    receive(node.folder)
    monkeypatch.setenv("SHEAF_TRANSPORT_SECRET", "which the node does not have")
    sender.ship()
    return caplog.text


def another_secret(node: Node, sender: Sender) -> str:
    """Of one of several machines; what is told stands in the log of the node."""
    (raw(node) / "oak").mkdir()
    sender.config.write_text(node.settings(volume_mb=0.05, receipt_s=0, sender="oak"))
    sender.ship()
    secret = node.folder / "secrets" / "oak"
    secret.parent.mkdir(mode=0o700)
    secret.touch(0o600)
    secret.write_text("which the machine does not have")
    return receive(node.folder, exit_code=6)


def limit(_node: Node, sender: Sender) -> str:
    sentences: list[str] = []
    with closing(Ledger(sender.media)) as ledger:
        transport_ = transport_of(sender.settings, ledger, lambda work: work(), Event())
        transport_.complete()
        tell = lambda *text: sentences.extend(text)  # noqa: E731
        Backlog([], lambda: transport_.backlog, 10, tell, lambda: True)()
    return "\n".join(sentences)


CAUSES: dict[str, Callable[..., str]] = {
    "shows another host key than known_hosts holds": another_key,
    "does not stand in": unknown,
    "does not let us in: check user and key": not_let_in,
    "cannot be reached": away,
    "has no folder": no_folder,
    "see who may write into": not_writable,
    "make room there": full,
    "into quarantine": quarantined,
    "is not signed with our secret": not_signed,
    "is not signed with the secret that its sender has here": another_secret,
    "wait to be shipped, which is the limit": limit,
}


@pytest.mark.parametrize("words", TABLE)
def test_what_the_table_says_is_told(
    words: str,
    node: Node,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    sender = Sender(tmp_path / "sender", node)
    sender.harvest(100_000)
    more = (caplog, monkeypatch) if CAUSES[words] is not_signed else ()
    assert words in CAUSES[words](node, sender, *more)
    assert sender.here() == sender.files, "nothing is lost meanwhile"


def test_the_table_has_them_all() -> None:
    assert sorted(TABLE) == sorted(CAUSES)
