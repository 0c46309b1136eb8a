"""What tests of shipping share: a harvest with media to ship, and what has arrived on a node."""

from __future__ import annotations

import csv
import hashlib
import io
import json
import os
import subprocess
import sys
import tarfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path
from random import Random
from threading import Event
from typing import Any, ClassVar

import pytest

import main
from tests.faults.injection import main_py
from tests.support.command import ROOT, clean_environment
from tests.support.node import Node, ParamikoNode, SshdNode
from tests.support.store_contract import image
from tools import settings as settings_of
from tools.add import Attachment, Media
from tools.engine.pools import Pools
from tools.engine.stage import Done, Found
from tools.jobs.conceptnet_description import CONCEPTNET
from tools.jobs.shipping import transport_of
from tools.media.ledger import Ledger
from tools.media.ledger_lines import BOOKS, CREDITS, FILES, SEARCHES
from tools.settings import Settings
from tools.shipping.batch import CONTENT
from tools.shipping.outbox import FOLDER, SHIPPED
from tools.shipping.settings import PARAMIKO, PROGRAM
from tools.shipping.stock import OnArrived
from tools.transport import Shipped, Transport

HARVEST = "3f2a9c10" + "0" * 24
OWNERS = ("dog", "a_cat's_paw", "büffel", "hot_dog_" * 20)  # the last is too long for plain tar
VOLUME_MB = 0.05
NOT_YET = "1 batch sent, not confirmed by a receipt yet"
RECEIVE = ROOT / "scripts" / "receive.py"


# --- the sender --------------------------------------------------------------------------------


def at_once(work: Callable[[], None]) -> None:
    work()


WAYS = (PROGRAM, PARAMIKO)


class Sender:
    """A harvest in a folder of its own that ships to a node. `changes` are of [transport], as are
    those that all of a test have in common."""

    usual: ClassVar[dict[str, object]] = {}

    def __init__(self, folder: Path, node: Node, /, **changes: object) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.folder, self.state, self.media = folder, folder / "state", folder / "m"
        self.config = folder / "sheaf.toml"
        small: dict[str, object] = {"volume_mb": VOLUME_MB, "receipt_s": 0}
        self.config.write_text(node.settings(**(small | self.usual | changes)), encoding="utf-8")
        self.id = HARVEST
        self.time: str | None = None  # when its files are fetched
        self.files: dict[str, str] = {}  # all that were ever harvested: SHA-256 by path
        self.stop = Event()

    @property
    def outbox(self) -> Path:
        return self.media / FOLDER

    @property
    def settings(self) -> Settings:
        places = {"state": str(self.state), "media": str(self.media)}
        return settings_of.load(self.config, places)

    # --- what it has -----------------------------------------------------------------------

    def harvest(self, *sizes: int) -> list[str]:
        """A finished owner with files of these sizes, and one for which nothing was found."""
        number, before = len(self.files), set(self.files)
        name = f"{OWNERS[number % len(OWNERS)]}_{number}"
        media = [self._file(f"en/{name}/image/{at}.png", size) for at, size in enumerate(sizes)]
        owners = [f"/c/en/{name}", f"/c/en/nothing_{number}"]
        with closing(Ledger(self.media)) as ledger:
            assert ledger.claim(self.id)
            ledger.add([_found(owners[0], media), _found(owners[1], [])])
        self._finish(owners)
        return [each for each in self.files if each not in before]

    def _file(self, path: str, size: int) -> Media:
        """Its content depends on its name and size, so that it can be made again."""
        content = Random(f"{path} {size}").randbytes(size)
        (self.media / path).parent.mkdir(parents=True, exist_ok=True)
        (self.media / path).write_bytes(content)
        self.files[path] = hashlib.sha256(content).hexdigest()
        return image(path)._replace(bytes=size, sha256=self.files[path], time=self.time)

    def _finish(self, owners: Sequence[str]) -> None:
        self.state.mkdir(exist_ok=True)
        stage = CONCEPTNET.stages(self.settings)[-1]
        with closing(Pools(self.state / "pools.db", CONCEPTNET.stages(self.settings))) as pools:
            pools.remember({"harvest": self.id})
            pools.discover(Found(stage.name, owners))
            tasks = pools.lease(stage, len(owners))
            pools.advance(*((task, Done("finished")) for task in tasks))

    # --- shipping --------------------------------------------------------------------------

    @contextmanager
    def transport(
        self,
        at_quiet_point: Callable[[Callable[[], None]], None] = at_once,
        on_arrived: OnArrived | None = None,
        **changes: Any,
    ) -> Iterator[Transport]:
        """As a new process opens it."""
        settings = self.settings
        settings = replace(settings, transport=replace(settings.transport, **changes))
        with closing(Ledger(self.media)) as ledger:
            transport = transport_of(settings, ledger, at_quiet_point, self.stop, on_arrived)
            transport.complete()
            yield transport

    def ship(self, only: str | None = None, **changes: Any) -> Shipped:
        with self.transport(**changes) as transport:
            return transport.ship(only)

    def command(self, *words: object) -> list[str]:
        places = ("--config", self.config, "--state", self.state, "--media", self.media)
        return main_py("ship", *words, *places)

    def by_hand(self, *words: str) -> int:
        """The same in this process: its exit code."""
        umask = os.umask(0o077)
        try:
            return main.main(self.command(*words)[2:])
        finally:
            os.umask(umask)

    # --- what is left ----------------------------------------------------------------------

    @property
    def batches(self) -> list[str]:
        return sorted(each.name for each in self.outbox.glob("*-*-????") if each.is_dir())

    @property
    def shipped(self) -> list[dict[str, Any]]:
        path = self.outbox / SHIPPED
        return json_lines(path) if path.exists() else []

    def here(self) -> dict[str, str]:
        """The media that are still on this computer, wherever they lie: SHA-256 by path."""
        found: dict[str, str] = {}
        for folder in (self.media, *self.outbox.glob(f"*/{CONTENT}")):
            found |= media_in(folder)
        return found

    def assert_clean(self) -> None:
        """Nothing is here that has arrived, and it is written down once."""
        assert self.here() == {}
        assert self.batches == []
        assert {each.name for each in self.outbox.iterdir()} <= {"LOCK", SHIPPED}
        names = [each["batch"] for each in self.shipped]
        assert len(names) == len(set(names)), names


def _found(owner: str, media: Sequence[Media]) -> Attachment:
    return Attachment(owner, media, {"owner": owner, "refused": []})


# --- the node ----------------------------------------------------------------------------------

PROVING = ("sshd", "paramiko", "plain paramiko")  # by a hash, over a shell
TELLING = ("restricted", "restricted paramiko", "restricted plain paramiko")  # by receipts
"""The plain ones know no extension of OpenSSH's at all."""


def new_node(kind: str, folder: Path) -> Node:
    folder.mkdir()
    server = ParamikoNode if kind.endswith("paramiko") else SshdNode
    node = server(folder, shell=kind in PROVING)
    if isinstance(node, ParamikoNode):
        node.knows_posix_rename = "plain" not in kind
    return node


def nodes(*kinds: str) -> pytest.MarkDecorator:
    """The test's node is one of each of these kinds."""
    return pytest.mark.parametrize("node", kinds, indirect=True)


def raw(node: Node) -> Path:
    return node.folder / "raw"


def only_batch(node: Node) -> Path:
    (batch,) = (each for each in raw(node).iterdir() if each.is_dir())
    return batch


def receive(folder: Path, *words: object, exit_code: int = 0, **environment: str) -> str:
    """What receive.py says when it is run on the node."""
    done = subprocess.run(
        [sys.executable, RECEIVE, folder, "--once", "--reserve-mb", "0", *map(str, words)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=60,
        env=clean_environment(**environment),
    )
    assert done.returncode == exit_code, done.stdout
    return done.stdout


@contextmanager
def receiving(folder: Path) -> Iterator[None]:
    """receive.py looks for batches all the time."""
    words = [sys.executable, str(RECEIVE), str(folder), "--watch", "1", "--reserve-mb", "0"]
    process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    try:
        yield
    finally:
        process.terminate()
        process.wait(60)


def media_in(folder: Path) -> dict[str, str]:
    """Of a media folder, but for its books and what is on its way: SHA-256 by path."""
    found = {}
    for parent, folders, names in os.walk(folder):
        if FOLDER in folders:
            folders.remove(FOLDER)
        for path in (Path(parent, name) for name in names):
            found[path.relative_to(folder).as_posix()] = sha256_of(path)
    return {path: each for path, each in found.items() if path not in (*BOOKS, "HARVEST")}


def unpacked(raw: Path) -> dict[str, str]:
    """What the complete batches in `raw` hold, but for the books: SHA-256 by path. Each is as its
    manifest says, and as tar itself reads it."""
    found: dict[str, str] = {}
    for manifest in raw.glob("*/manifest.json"):
        plan = json.loads(manifest.read_text(encoding="utf-8"))
        volumes = [
            (each, (manifest.parent / each["name"]).read_bytes()) for each in plan["volumes"]
        ]
        for volume, content in volumes:
            told = (volume["bytes"], volume["sha256"])
            assert told == (len(content), hashlib.sha256(content).hexdigest()), volume["name"]
        members = members_of(b"".join(content for _, content in volumes))
        listed = [each for volume, _ in volumes for each in volume["members"]]
        assert {each["path"]: each["sha256"] for each in listed} == members
        found |= members
    return {path: each for path, each in found.items() if path not in BOOKS}


def members_of(archive: bytes) -> dict[str, str]:
    found = {}
    with tarfile.open(fileobj=io.BytesIO(archive), mode="r:") as tar:
        for member in tar:
            content = tar.extractfile(member)
            assert content is not None and member.name not in found
            found[member.name] = hashlib.sha256(content.read()).hexdigest()
    return found


def assert_merged(folder: Path, files: dict[str, str]) -> None:
    """The node's `m` is what was harvested, hash by hash, and its books have each line once."""
    media = folder / "m"
    assert media_in(media) == files
    lines = json_lines(media / FILES)
    assert sorted(each["path"] for each in lines) == sorted(files)
    assert all(each["sha256"] == files[each["path"]] for each in lines)
    with (media / CREDITS).open(encoding="utf-8", newline="") as credits:
        assert sorted(row["path"] for row in csv.DictReader(credits)) == sorted(files)
    owners = [each["owner"] for each in json_lines(media / SEARCHES)]
    assert len(owners) == len(set(owners)) >= len({each["owner"] for each in lines})


def json_lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def sha256_of(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
