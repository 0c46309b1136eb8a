"""Batches for receive.py: good ones, as the contract of both sides says, and crafted ones."""

from __future__ import annotations

import hashlib
import hmac
import importlib.util
import json
import os
import subprocess
import sys
import tarfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest

from tests.support.command import ROOT, clean_environment
from tests.support.needs import program
from tools.add import Attachment, Media
from tools.errors import AlreadyRunning, StopHarvest, UsageError
from tools.media.credits import COLUMNS
from tools.media.ledger import Ledger
from tools.media.ledger_lines import BOOKS

SCRIPT = ROOT / "scripts/receive.py"
HARVEST, OTHER_HARVEST = "3f2a9c10", "77777777"
END = bytes(2 * tarfile.BLOCKSIZE)
FINE, QUARANTINED = 0, 6
NOBODY = 65534
CANNOT, RUNNING, USAGE = StopHarvest.exit_code, AlreadyRunning.exit_code, UsageError.exit_code
DOG = {f"en/dog/image/{number}.jpg": b"dog %d" % number * 400 for number in range(5)}

if TYPE_CHECKING:
    import receive as receive
else:
    _spec = importlib.util.spec_from_file_location("receive", SCRIPT)
    receive = importlib.util.module_from_spec(_spec)
    sys.modules["receive"] = receive
    _spec.loader.exec_module(receive)

Listed = Sequence[tuple[str, bytes]]
"""Paths and contents, as a manifest has them."""


def name_of(counter: int, harvest: str = HARVEST) -> str:
    return f"{harvest}-{counter:06}-5c1e"


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def sign(data: bytes, secret: str) -> bytes:
    return hmac.new(secret.encode(), data, hashlib.sha256).hexdigest().encode()


# --- archives ----------------------------------------------------------------------------------


def plain(path: str, content: bytes, **facts: Any) -> bytes:
    """A member of an archive, by default as senders write them."""
    info = tarfile.TarInfo(path)
    info.size, info.mode = len(content), 0o644
    for name, value in facts.items():
        setattr(info, name, value)
    header = info.tobuf(tarfile.GNU_FORMAT, "utf-8", "surrogateescape")
    return header + content + bytes(-len(content) % tarfile.BLOCKSIZE)


def with_checksum(header: bytes) -> bytes:
    """A header in which something was changed, made believable again."""
    blank = header[:148] + b" " * 8 + header[156:]
    return header[:148] + b"%06o\0 " % sum(blank) + header[156:]


def changed(member: bytes, at: int, by: bytes) -> bytes:
    return with_checksum(member[:at] + by + member[at + len(by) : 512]) + member[512:]


# --- batches -----------------------------------------------------------------------------------


@dataclass
class Batch:
    """As it lies on the wire: volumes, and the table that becomes the manifest."""

    name: str
    volumes: list[bytes]
    table: dict[str, Any]
    files: dict[str, bytes] = field(default_factory=dict)  # what should be in m afterwards
    sender: str = ""

    @property
    def place(self) -> str:
        """In each of the node's folders."""
        return f"{self.sender}/{self.name}" if self.sender else self.name

    @property
    def manifest(self) -> bytes:
        return json.dumps(self.table).encode()

    @property
    def volume_names(self) -> list[str]:
        return [f"{number:05}.tar" for number in range(1, len(self.volumes) + 1)]

    def send(self, node: Path, secret: str = "") -> Path:
        folder = self.send_volumes(node)
        if secret:
            (folder / "manifest.json.hmac").write_bytes(sign(self.manifest, secret))
        (folder / "manifest.json").write_bytes(self.manifest)
        return folder

    def send_volumes(self, node: Path, *only: int) -> Path:
        """All of them, or those with these numbers."""
        folder = node / "raw" / self.place
        folder.mkdir(parents=True, exist_ok=True)
        for number, data in enumerate(self.volumes, 1):
            if not only or number in only:
                (folder / f"{number:05}.tar").write_bytes(data)
        return folder


def batch(
    counter: int,
    files: Mapping[str, bytes],
    harvest: str = HARVEST,
    in_a_volume: int = 2,
    owner: str = "/c/en/dog",
    lost: Sequence[str] = (),
    sender: str = "",
    time: str | None = None,
) -> Batch:
    """A good one, with the books that the harvest would write. Lost files are in these only."""
    name = name_of(counter, harvest)
    books = books_of({**files, **dict.fromkeys(lost, b"?")}, owner, name, time)
    members = [*files.items(), *books.items()]
    parts = [members[at : at + in_a_volume] for at in range(0, len(members), in_a_volume)]
    made = craft(name, [[plain(*member) for member in part] for part in parts], parts)
    made.table["lost"] = [{"path": path, "reason": "No such file"} for path in lost]
    made.files, made.sender = dict(files), sender
    return made


def archive_batch(
    counter: int, files: Mapping[str, bytes], harvest: str = HARVEST, in_a_volume: int = 2
) -> Batch:
    """Files of a web archive, without books."""
    members = list(files.items())
    parts = [members[at : at + in_a_volume] for at in range(0, len(members), in_a_volume)]
    made = craft(
        name_of(counter, harvest), [[plain(*each) for each in part] for part in parts], parts
    )
    made.table |= {"format": 3, "kind": "archive"}
    made.files = dict(files)
    return made


def craft(name: str, volumes: Sequence[Sequence[bytes]], listed: Sequence[Listed]) -> Batch:
    """Any members; sizes and hashes of the volumes are right, so that they are believed."""
    data = [b"".join(members) for members in volumes]
    data[-1] += END
    table = {
        "format": 1,
        "batch": name,
        "created": "2026-11-16T12:00:00+00:00",
        "volumes": [
            {
                "name": f"{number:05}.tar",
                "bytes": len(volume),
                "sha256": sha256(volume),
                "members": [
                    {"path": path, "bytes": len(content), "sha256": sha256(content)}
                    for path, content in members
                ],
            }
            for number, (volume, members) in enumerate(zip(data, listed, strict=True), 1)
        ],
        "lost": [],
    }
    return Batch(name, data, table)


def books_of(
    files: Mapping[str, bytes], owner: str, batch: str, time: str | None = None
) -> dict[str, bytes]:
    """Written by the ledger of the harvest itself."""
    media = [_media(path, body, batch)._replace(time=time) for path, body in files.items()]
    search = {"owner": owner, "batch_of_test": batch, "refused": []}
    with TemporaryDirectory() as folder:
        with closing(Ledger(Path(folder))) as ledger:
            ledger.add([Attachment(owner, media, search)])
        found = {name: Path(folder, name) for name in BOOKS}
        return {name: path.read_bytes() for name, path in found.items() if path.exists()}


def _media(path: str, content: bytes, batch: str) -> Media:
    page, title = "https://example.org/1", f'"{Path(path).stem}" ü of {batch}'
    return Media(
        path, "image", "image/jpeg", sha256(content), len(content), 1, 1, None, "cc-by-4.0",
        "https://example.org/by", "Ada, Countess", page, None, "test", title,
    )  # fmt: skip


# --- receive.py --------------------------------------------------------------------------------


class Said(NamedTuple):
    code: int
    out: str
    err: str


Receive = Callable[..., Said]


def new_node(folder: Path) -> Path:
    """Beside it lies what nobody may touch."""
    (folder / "outside").mkdir()
    (folder / "outside/file").write_text("of somebody else")
    (folder / "node/raw").mkdir(parents=True)
    return folder / "node"


@contextmanager
def receiving(node: Path, capfd: pytest.CaptureFixture[str]) -> Iterator[Receive]:
    """receive.py without a process of its own."""

    def run(*words: object) -> Said:
        capfd.readouterr()
        code = receive.main([str(node), "--reserve-mb", "0", *map(str, words)])
        return Said(code, *capfd.readouterr())

    umask = os.umask(0o077)
    try:
        yield run
    finally:
        os.umask(umask)


def command(node: Path, *words: object) -> list[str]:
    return [sys.executable, str(SCRIPT), str(node), "--reserve-mb", "0", *map(str, words)]


def close(path: Path, mode: int = 0) -> None:
    """To whoever runs the tests."""
    path.chmod(mode)
    if os.getuid() == 0:
        os.chown(path, NOBODY, NOBODY)


def receive_as_user(node: Path, *words: object) -> Said:
    """Root may read everything: here it is a user like others."""
    powers = "--bounding-set=-dac_override,-dac_read_search,-fowner"
    drop = [program("setpriv", "util-linux"), powers] if os.getuid() == 0 else []
    done = subprocess.run(
        [*drop, *command(node, *words)],
        capture_output=True,
        text=True,
        timeout=60,
        env=clean_environment(),
    )
    return Said(done.returncode, done.stdout, done.stderr)


# --- what is there afterwards ------------------------------------------------------------------


def assert_all_taken(node: Path) -> None:
    """But for the folders of senders, which stay."""
    raw = [each for each in (node / "raw").iterdir() if not receive.SENDER.fullmatch(each.name)]
    raw += (node / "raw").glob("*/*")
    assert raw == list((node / "staging").iterdir()) == []
    assert not (node / "quarantine").exists()


def assert_nothing_merged(node: Path) -> None:
    there = {each.name for each in node.iterdir()} - {".receive.lock"}
    assert there <= {"raw", "received", "quarantine", "staging"}
    assert not (node / "staging").exists() or list((node / "staging").iterdir()) == []


def assert_has(node: Path, *batches: Batch) -> None:
    """These, hash by hash, and each file in the books once."""
    files = {path: body for each in batches for path, body in each.files.items()}
    assert merged(node) == files
    known = {each["path"]: each["sha256"] for each in records(node)}
    assert known == {path: sha256(body) for path, body in files.items()}
    assert len(lines(node, "MEDIA.jsonl")) == len(files)
    head, *rows = lines(node, "ATTRIBUTION.csv")
    assert head == ",".join(COLUMNS).encode()
    assert sorted(row.split(b",")[0].decode() for row in rows) == sorted(files)


def reason_for(node: Path, sent: Batch) -> str:
    """Why it is in quarantine, where all of it lies as it was sent."""
    folder = node / "quarantine" / sent.place
    for name, data in zip(sent.volume_names, sent.volumes, strict=True):
        assert (folder / name).read_bytes() == data
    told = receipt(node, sent.place)
    assert (told["state"], told["manifest_sha256"]) == ("quarantined", sha256(sent.manifest))
    assert (folder / "REASON").read_text() == f"{told['reason']}\n"
    return str(told["reason"])


def merged(node: Path) -> dict[str, bytes]:
    """The media, without the books."""
    found = {path.relative_to(node / "m"): path for path in (node / "m").rglob("*")}
    return {str(p): f.read_bytes() for p, f in found.items() if f.is_file() and str(p) not in BOOKS}


def lines(node: Path, book: str) -> list[bytes]:
    path = node / "m" / book
    return path.read_bytes().splitlines() if path.exists() else []


def records(node: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in lines(node, "MEDIA.jsonl")]


def receipt(node: Path, name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((node / "received" / f"{name}.json").read_bytes())
    return found


def tree(folder: Path, but: Iterable[str] = ()) -> dict[str, tuple[int, int, bytes]]:
    """Everything below a folder, links as links: mode, time and content of each."""
    found = {}
    for path in sorted(folder.rglob("*")):
        name, facts = str(path.relative_to(folder)), path.lstat()
        if any(name == each or name.startswith(f"{each}/") for each in but):
            continue
        content = b""
        if path.is_symlink():
            content = str(path.readlink()).encode()
        elif path.is_file():
            content = path.read_bytes()
        found[name] = facts.st_mode, facts.st_mtime_ns if not path.is_dir() else 0, content
    return found
