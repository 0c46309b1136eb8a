"""What is forged, crafted or planted goes into quarantine, and nothing else is touched by it."""

from __future__ import annotations

import json
import os
import posixpath
import stat
import subprocess
import tarfile
import unicodedata
from collections.abc import Callable, Iterator
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.faults.injection import limited
from tests.support.crafted import (
    CANNOT,
    DOG,
    END,
    FINE,
    QUARANTINED,
    USAGE,
    Batch,
    Receive,
    assert_all_taken,
    assert_has,
    assert_nothing_merged,
    batch,
    changed,
    command,
    craft,
    merged,
    name_of,
    new_node,
    plain,
    reason_for,
    receipt,
    receive,
    receiving,
    sha256,
    sign,
    tree,
)

OWN = ("node/raw", "node/received", "node/quarantine", "node/staging", "node/.receive.lock")
"""What receive.py may change when something is wrong."""


@pytest.fixture
def node(tmp_path: Path) -> Path:
    return new_node(tmp_path)


@pytest.fixture
def run(node: Path, capfd: pytest.CaptureFixture[str]) -> Iterator[Receive]:
    with receiving(node, capfd) as run:
        yield run


def assert_refused(sent: Batch, node: Path, run: Receive) -> str:
    """The whole batch, with one line that controls no terminal; and all else is as it was."""
    sent.send(node)
    before = tree(node.parent, OWN)
    said = run()
    assert (said.code, said.out) == (QUARANTINED, "")
    assert said.err.endswith("\n") and said.err[:-1].isprintable()
    assert tree(node.parent, OWN) == before
    assert_nothing_merged(node)
    return reason_for(node, sent)


# --- manifests ---------------------------------------------------------------------------------

UNSAFE = [
    *("", "/", "/etc/passwd", "..", ".", "../x", "a/../../x", "a/..", "./a", "a/./b", "a//b", "a/"),
    *(".outbox/x", ".receive.lock", "a\\b", "a\0b", "a\nb", "a\x1b[2Jb", "a\x7f", "a\x85b"),
    *("a\u2028b", "\ud800", "x" * 256, "ü" * 128, "/".join(["x" * 100] * 41), "MEDIA.jsonl/x"),
    "/".join("x" * 65),
]


@pytest.mark.parametrize("path", UNSAFE, ids=lambda path: ascii(path[:20]))
def test_a_path_that_leads_elsewhere_is_refused(node: Path, run: Receive, path: str) -> None:
    sent = craft(name_of(1), [[plain("en/x", b"bad")]], [[("en/x", b"bad")]])
    sent.table["volumes"][0]["members"][0]["path"] = path
    assert_refused(sent, node, run)


def test_unsafe_paths_are_so_by_themselves() -> None:
    """Not only because no archive has such a file."""
    assert [path for path in UNSAFE if receive.is_safe(path)] == ["MEDIA.jsonl/x"], "a book's place"


def test_usual_paths_are_safe() -> None:
    for path in [
        *DOG,
        "/".join("x" * 64),
        "-rf",
        "a b/c",
        "ü/😀",
        "a/.hidden",
        "x" * 255,
        "..a/b..",
        "a" * 100,
    ]:
        assert receive.is_safe(path) != path.startswith("."), path


PLACES = [
    ("en", "en/x"),
    ("en", "en-x", "en/x"),
    ("en/x", "en/x"),
    ("a/b", "a/b/c/d"),
    ("MEDIA.jsonl/x",),
]


@pytest.mark.parametrize("paths", PLACES, ids=",".join)
def test_two_files_for_one_place_are_refused(node: Path, run: Receive, paths: list[str]) -> None:
    """Where all else fits."""
    listed = [(path, b"") for path in paths]
    sent = craft(name_of(1), [[plain(*each) for each in listed]], [listed])
    assert assert_refused(sent, node, run) == "its manifest has two files for the same place"


Change = Callable[[Any], object]
CHANGES: dict[str, Change] = {
    "a format without its kind": lambda table: table.update(format=2),
    "a kind of another version": lambda table: table.update(format=2, kind="pictures"),
    "a kind that is none": lambda table: table.update(format=2, kind=["archive"]),
    "media as an archive": lambda table: table.update(format=2, kind="archive"),
    "newer format": lambda table: table.update(format=4, kind="media"),
    "true as format": lambda table: table.update(format=True),
    "another batch": lambda table: table.update(batch=name_of(2)),
    "no volumes": lambda table: table.update(volumes=[]),
    "volumes of another kind": lambda table: table.update(volumes={"00001.tar": {}}),
    "a volume that is none": lambda table: table.update(volumes=[None]),
    "lost of another kind": lambda table: table.update(lost="?"),
    "not numbered from one": lambda table: table["volumes"].pop(0),
    "a name with a path": lambda table: table["volumes"][0].update(name="../00001.tar"),
    "a hash in capitals": lambda table: table["volumes"][0].update(sha256="A" * 64),
    "a negative size": lambda table: table["volumes"][0]["members"][0].update(bytes=-1),
    "a size with a point": lambda table: table["volumes"][0].update(bytes=1.0),
    "a text as size": lambda table: table["volumes"][0].update(bytes="1"),
    "a file twice": lambda table: table["volumes"][0]["members"][1].update(path=next(iter(DOG))),
    "a file as folder": lambda table: table["volumes"][0]["members"][1].update(path="en/dog"),
    "a file more": lambda table: table["volumes"][0]["members"].append(
        {"path": "en/x", "bytes": 0, "sha256": sha256(b"")}
    ),
    "a file less": lambda table: table["volumes"][0]["members"].pop(),
    "files in another order": lambda table: table["volumes"][0]["members"].reverse(),
    "another hash": lambda table: table["volumes"][0]["members"][0].update(sha256=sha256(b"?")),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_a_manifest_that_does_not_fit_is_refused(node: Path, run: Receive, change: Change) -> None:
    sent = batch(1, DOG)
    change(sent.table)
    assert_refused(sent, node, run)


TEXTS = [
    *(b"", b"{", b"null", b"\xff", b"[" * 200_000, b"\xef\xbb\xbf{}", "{}".encode("utf-16")),
    *(b'{"format":' + b"1" * 100_000 + b"}", b'{"format":NaN}'),
]


@pytest.mark.parametrize("text", TEXTS, ids=lambda text: repr(text[:12]))
def test_what_is_no_manifest_is_refused(node: Path, run: Receive, text: bytes) -> None:
    (batch(1, DOG).send(node) / "manifest.json").write_bytes(text)
    assert run().code == QUARANTINED
    assert receipt(node, name_of(1))["manifest_sha256"] == sha256(text)


def test_a_manifest_without_end_is_not_read(
    node: Path, run: Receive, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(receive, "LARGEST_MANIFEST", 1000)
    assert "not a file of at most" in assert_refused(batch(1, DOG), node, run)


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.sampled_from(UNSAFE),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)
SMALL = craft(
    name_of(1),
    [[plain("en/a", b"1"), plain("en/b/c", b"22")], [plain("en/d", b"")]],
    [[("en/a", b"1"), ("en/b/c", b"22")], [("en/d", b"")]],
)


def assert_refused_or_safe(data: bytes) -> None:
    try:
        manifest = receive.parse_manifest(data, SMALL.name)
    except receive.Wrong as wrong:
        assert 0 < len(str(wrong)) < 2000
        return
    paths = [each.path for each in manifest.members]
    for path in paths:
        assert path and posixpath.normpath(f"/m/{path}") == f"/m/{path}"
        assert not any(unicodedata.category(each) in ("Cc", "Cs") for each in path)
        assert not any(other.startswith(f"{path}/") for other in paths)
    assert len(paths) == len(set(paths))
    assert all(each.bytes >= 0 for each in manifest.members)


def test_the_manifest_that_is_spoilt_here_is_good() -> None:
    assert len(receive.parse_manifest(SMALL.manifest, SMALL.name).members) == 3


@given(st.binary())
@example(b'{"format": 1}')
def test_bytes_are_refused_or_safe(data: bytes) -> None:
    assert_refused_or_safe(data)


@settings(max_examples=300)
@given(st.data())
def test_a_manifest_with_anything_anywhere_is_refused_or_safe(data: st.DataObject) -> None:
    inner: Any = (table := json.loads(SMALL.manifest))
    while True:
        keys = list(inner) if isinstance(inner, dict) else list(range(len(inner)))
        at = data.draw(st.sampled_from(keys))
        if not isinstance(inner[at], (dict, list)) or not inner[at] or data.draw(st.booleans()):
            break
        inner = inner[at]
    inner[at] = data.draw(VALUES)
    assert_refused_or_safe(json.dumps(table).encode())


@given(st.text())
@example("a/b")
def test_whatever_its_name_a_file_is_refused_or_stays_inside(path: str) -> None:
    sent = craft(name_of(1), [[plain("x", b"")]], [[("x", b"")]])
    sent.table["volumes"][0]["members"][0]["path"] = path
    assert_refused_or_safe(sent.manifest)


# --- archives ----------------------------------------------------------------------------------

X, BODY = "en/x", b"evil" * 100
LONG = f"en/{'x' * 120}"


def long_named(path: str, **facts: Any) -> bytes:
    """Listed as LONG, which it is as long as."""
    assert len(path) == len(LONG)
    return plain(path, BODY, **facts)


FILES = {
    "another name": plain("en/y", BODY),
    "up and out": plain("../outside/file", BODY),
    "absolute": plain("/tmp/receive", BODY),
    "another spelling": plain("./en/x", BODY),
    "a backslash": plain("en\\x", BODY),
    "a line end": plain("en/x\n", BODY),
    "a NUL": changed(plain(X, BODY), 0, b"en/\0x"),
    "not UTF-8": changed(plain(X, BODY), 0, b"en/\xff"),
    "setuid": plain(X, BODY, mode=0o4644),
    "setgid": plain(X, BODY, mode=0o2755),
    "sticky": plain(X, BODY, mode=0o1777),
    "a prefix": changed(changed(plain(X, BODY), 257, b"ustar\x0000"), 345, b"../outside"),
    "a wrong checksum": plain(X, BODY).replace(b"en/x", b"en/w", 1),
    "a smaller size": changed(plain(X, BODY), 124, b"00000000001\0"),
    "a larger size": changed(plain(X, BODY), 124, b"77777777777\0"),
    "a negative size": changed(plain(X, BODY), 124, b"\xff" * 12),
    "a size of half the world": changed(plain(X, BODY), 124, b"\x80" + b"\x7f" * 11),
    "no size": changed(plain(X, BODY), 124, b"no number  \0"),
    "the end": bytes(512) + plain(X, BODY)[512:],
    **{
        f"type {kind!r}": plain(X, BODY, type=kind, linkname="../../../outside")
        for kind in (
            *(tarfile.LNKTYPE, tarfile.SYMTYPE, tarfile.CHRTYPE, tarfile.BLKTYPE, tarfile.DIRTYPE),
            *(tarfile.FIFOTYPE, tarfile.CONTTYPE, tarfile.GNUTYPE_LONGNAME, tarfile.XHDTYPE),
            *(tarfile.GNUTYPE_LONGLINK, tarfile.GNUTYPE_SPARSE, tarfile.XGLTYPE),
            *(tarfile.SOLARIS_XHDTYPE, b"V", b"\0", b"?"),
        )
    },
}


@pytest.mark.parametrize("member", FILES.values(), ids=FILES)
def test_what_is_no_plain_file_of_that_name_is_refused(
    node: Path, run: Receive, member: bytes
) -> None:
    sent = craft(
        name_of(1), [[plain(*each) for each in DOG.items()], [member]], [[*DOG.items()], []]
    )
    sent.table["volumes"][1]["members"] = [
        {"path": X, "bytes": len(BODY), "sha256": sha256(BODY)},
    ]
    reason = assert_refused(sent, node, run)
    assert reason == "00002.tar does not have 'en/x' as a plain file in its place"


EMPTY = [tarfile.LNKTYPE, tarfile.SYMTYPE, tarfile.CHRTYPE, tarfile.FIFOTYPE, tarfile.DIRTYPE]


@pytest.mark.parametrize("kind", EMPTY)
def test_a_link_is_not_made_so_no_file_goes_through_it(
    node: Path, run: Receive, kind: bytes
) -> None:
    link = plain("en/link", b"", type=kind, linkname="../../../../outside")
    through = plain("en/link/file", BODY)
    sent = craft(name_of(1), [[link, through]], [[("en/link", b""), ("en/linked/fil", BODY)]])
    assert_refused(sent, node, run)


LONG_NAMES = {
    "another name": long_named(LONG[:-1] + "y"),
    "up and out": long_named("../" + LONG[3:]),
    "a link": long_named(LONG, type=tarfile.SYMTYPE),
    "a NUL": long_named(LONG).replace(b"x" * 110, b"x" * 50 + b"\0" + b"x" * 59, 1),
    "no end of its length": changed(long_named(LONG), 124, b"77777777777\0"),
    "no long name": plain("en/x", bytes(1024) + BODY),
}


@pytest.mark.parametrize("member", LONG_NAMES.values(), ids=LONG_NAMES)
def test_a_long_name_is_what_is_listed(node: Path, run: Receive, member: bytes) -> None:
    sent = craft(name_of(1), [[member]], [[(LONG, BODY)]])
    assert_refused(sent, node, run)


ENDINGS: dict[str, Callable[[list[bytes]], object]] = {
    "something behind its end": lambda volumes: volumes.append(volumes.pop()[:-1] + b"\1"),
    "a file behind its end": lambda volumes: volumes.append(volumes.pop() + plain("en/y", BODY)),
    "more zeros": lambda volumes: volumes.append(volumes.pop() + bytes(512)),
    "no end": lambda volumes: volumes.append(volumes.pop()[: -len(END)]),
    "an end in the middle": lambda volumes: volumes.insert(0, volumes.pop(0) + END),
    "a file in two volumes": lambda volumes: volumes.__setitem__(
        slice(0, 2), [volumes[0][:-512], volumes[0][-512:] + volumes[1]]
    ),
    "compressed": lambda volumes: volumes.append(b"\x1f\x8b\x08" + volumes.pop()[3:]),
}


@pytest.mark.parametrize("change", ENDINGS.values(), ids=ENDINGS)
def test_a_volume_ends_where_its_files_end(
    node: Path, run: Receive, change: Callable[[list[bytes]], object]
) -> None:
    sent = batch(1, DOG)
    change(sent.volumes)
    for volume, data in zip(sent.table["volumes"], sent.volumes, strict=True):
        volume.update(bytes=len(data), sha256=sha256(data))
    assert_refused(sent, node, run)


@settings(max_examples=300)
@given(at=st.integers(0, 3000), by=st.binary(min_size=1, max_size=20), is_believable=st.booleans())
def test_a_changed_archive_brings_what_is_listed_or_nothing(
    at: int, by: bytes, is_believable: bool
) -> None:
    files = {"en/a": b"a" * 700, LONG: b"long", "en/b": b""}
    sent = craft(name_of(1), [[plain(*each) for each in files.items()]], [[*files.items()]])
    (volume,) = receive.parse_manifest(sent.manifest, sent.name).volumes
    data = sent.volumes[0]
    begin = at // 512 * 512
    spoilt = data[:at] + by + data[at + len(by) :]
    if is_believable:
        spoilt = data[:begin] + changed(data[begin:], at - begin, by[: 512 - at % 512])
    made: dict[str, Kept] = {}

    def create(path: str) -> Kept:
        return made.setdefault(path, Kept())

    try:
        receive.read_volume(BytesIO(spoilt), volume, create, receive.Show(is_quiet=True))
    except receive.Wrong:
        assert made.keys() <= files.keys()
    else:
        assert {path: file.content for path, file in made.items()} == files


class Kept(BytesIO):
    content = b""

    def close(self) -> None:
        self.content = self.content or self.getvalue()
        super().close()


# --- bombs -------------------------------------------------------------------------------------


def test_millions_of_files_that_are_not_listed_are_not_even_read(node: Path, run: Receive) -> None:
    sent = craft(name_of(1), [[plain(X, b"")]], [[(X, b"")]])
    sent.volumes[0] = plain(X, b"") + plain("en/y", b"") * 20_000 + END
    volume = sent.table["volumes"][0]
    volume.update(bytes=len(sent.volumes[0]), sha256="0" * 64)  # to be seen if it was hashed
    reason = assert_refused(sent, node, run)
    assert reason == f"00001.tar has {volume['bytes']} bytes, but its files need 1536"


def test_millions_of_files_that_are_claimed_only_are_not_made(node: Path, run: Receive) -> None:
    sent = craft(name_of(1), [[plain(X, b"")]], [[(X, b"")]])
    member = sent.table["volumes"][0]["members"][0]
    sent.table["volumes"][0]["members"] = [{**member, "path": f"{n}"} for n in range(20_000)]
    assert "but its files need" in assert_refused(sent, node, run)


def test_a_file_that_is_claimed_to_be_huge_needs_the_room(node: Path, run: Receive) -> None:
    sent = craft(name_of(1), [[plain(X, b"")]], [[(X, b"")]])
    volume = sent.table["volumes"][0]
    volume["members"][0]["bytes"] = 10**17
    assert "but its files need" in assert_refused(sent, node, run)
    sent = craft(name_of(2), [[plain(X, b"")]], [[(X, b"")]])
    size = 10**17 // 512 * 512
    sent.table["volumes"][0]["members"][0]["bytes"] = size
    sent.table["volumes"][0]["bytes"] += size
    sent.send(node)
    said = run()
    assert said.code == QUARANTINED, "there is no volume of such a size"
    assert "it has 1536 bytes instead of" in said.err


def test_a_header_that_goes_on_and_on_is_not_taken_into_memory(node: Path) -> None:
    """In the place of a picture of 100 MB comes a header of that size, or a file full of holes."""
    size = 100 * 2**20
    for number, kind in enumerate((tarfile.XHDTYPE, tarfile.GNUTYPE_SPARSE, b"L"), 1):
        sent = craft(name_of(number), [[b""]], [[]])
        header = plain(X, b"", type=kind, size=size)
        folder = sent.send(node)
        with (folder / "00001.tar").open("wb") as volume:
            volume.write(header)
            volume.truncate(len(header) + size)
            volume.seek(0, os.SEEK_END)
            volume.write(END)
        with (folder / "00001.tar").open("rb") as volume:
            found = receive.hash_of(volume, receive.Show())
        told = sent.table["volumes"][0]
        told.update(bytes=len(header) + size + len(END), sha256=found)
        told["members"] = [{"path": X, "bytes": size, "sha256": "0" * 64}]
        (folder / "manifest.json").write_bytes(sent.manifest)
    words = [*limited(data=60 * 2**20), *command(node)]
    done = subprocess.run(words, capture_output=True, text=True, timeout=120)
    assert done.returncode == QUARANTINED, done.stderr
    assert done.stderr.count("does not have 'en/x' as a plain file") == 3
    assert_nothing_merged(node)


# --- what lies in the way ----------------------------------------------------------------------


def test_a_batch_that_is_a_link_is_left_alone(node: Path, run: Receive) -> None:
    elsewhere = node.parent / "outside/node"
    sent = batch(1, DOG)
    folder = sent.send(elsewhere)
    (node / "raw" / sent.name).symlink_to(folder)
    before = tree(node.parent, ["node/.receive.lock"])
    assert run() == (FINE, "", "")
    assert tree(node.parent, ["node/.receive.lock"]) == before


def test_a_manifest_that_is_a_pipe_is_not_waited_for(node: Path, run: Receive) -> None:
    folder = batch(1, DOG).send(node)
    (folder / "manifest.json").unlink()
    os.mkfifo(folder / "manifest.json")
    assert run().code == QUARANTINED
    (second := batch(2, DOG).send(node) / "00001.tar").unlink()
    os.mkfifo(second)
    assert run().code == QUARANTINED
    assert stat.S_ISFIFO((node / f"quarantine/{name_of(2)}-volumes/00001.tar").stat().st_mode)


def test_a_manifest_that_is_a_link_is_not_followed(node: Path, run: Receive) -> None:
    folder = batch(1, DOG).send(node)
    (folder / "manifest.json").rename(node.parent / "outside/manifest.json")
    (folder / "manifest.json").symlink_to("../../../outside/manifest.json")
    assert run().code == QUARANTINED
    assert (node.parent / "outside/manifest.json").exists()
    assert_nothing_merged(node)


IN_THE_WAY: list[tuple[str, Callable[[Path], object]]] = [
    ("m/en", lambda path: path.symlink_to(path.parents[2] / "outside")),
    ("m/en/dog", lambda path: path.symlink_to("../../../outside")),
    ("m/en/dog/image/0.jpg", lambda path: path.symlink_to(path.parents[5] / "outside/file")),
    ("m/en/dog/image", lambda path: path.write_text("a file")),
    ("m/en/dog/image/4.jpg", lambda path: path.mkdir()),
    ("m/en/dog/image/4.jpg", os.mkfifo),
    ("m/en", os.mkfifo),
]


@pytest.mark.parametrize(("place", "plant"), IN_THE_WAY)
def test_what_stands_in_the_place_of_a_file_is_not_followed(
    node: Path, run: Receive, place: str, plant: Callable[[Path], object]
) -> None:
    (node / place).parent.mkdir(parents=True)
    plant(node / place)
    sent = batch(1, DOG)
    sent.send(node)
    before = tree(node.parent, OWN)
    assert run().code == QUARANTINED
    assert reason_for(node, sent).startswith("m has a link or a folder in the place of 'en/dog/")
    assert tree(node.parent, OWN) == before


@pytest.mark.parametrize("name", ["m", "staging", "received", "quarantine", "aside", "raw"])
def test_our_own_folders_must_not_be_links(node: Path, run: Receive, name: str) -> None:
    sent = batch(1, DOG)
    sent.send(node)
    if name == "raw":
        (node / "raw").rename(node / "real")
    (node / name).symlink_to(node.parent / "outside")
    before = tree(node.parent, ["node/.receive.lock"])
    said = run()
    assert (said.code, said.out) == (CANNOT, "")
    assert name in said.err and len(said.err.splitlines()) == 1
    assert tree(node.parent, ["node/.receive.lock"]) == before
    (node / name).unlink()
    if name == "raw":
        (node / "real").rename(node / "raw")
    assert run().code == FINE
    assert_has(node, sent)


def test_links_in_staging_are_removed_and_not_followed(node: Path, run: Receive) -> None:
    sent = batch(1, DOG)
    sent.send(node)
    outside = node.parent / "outside"
    (node / "staging/old/deep").mkdir(parents=True)
    for place in (sent.name, "MEDIA.jsonl", "books.json", "books.json.part", "old/deep/link"):
        (node / "staging" / place).symlink_to(outside)
    before = tree(outside)
    assert run().code == FINE
    assert tree(outside) == before
    assert_has(node, sent)
    assert_all_taken(node)


@pytest.mark.parametrize("book", ["MEDIA.jsonl", "ATTRIBUTION.csv", "SEARCHES.jsonl"])
def test_a_book_that_is_a_link_is_not_written_through(node: Path, run: Receive, book: str) -> None:
    (node / "m").mkdir()
    (node / "m" / book).symlink_to(node.parent / "outside/file")
    before = tree(node.parent / "outside")
    sent = batch(1, DOG)
    sent.send(node)
    said = run()
    assert (said.code, said.out) == (CANNOT, "") and f"m/{book}: " in said.err
    assert tree(node.parent / "outside") == before
    assert not (node / "received").exists()
    (node / "m" / book).unlink()
    assert run().code == FINE
    assert_has(node, sent)


def test_links_where_receipts_and_reasons_come_are_replaced(node: Path, run: Receive) -> None:
    outside = node.parent / "outside"
    (node / "received").mkdir()
    for name in (name_of(1), name_of(2)):
        for ending in (".json", ".json.part"):
            (node / "received" / f"{name}{ending}").symlink_to(outside / "file")
    sent = batch(1, DOG)
    sent.send(node)
    folder = batch(2, DOG).send(node)
    (folder / "manifest.json").write_text("{}")
    for name in ("REASON", "REASON.part"):
        (folder / name).symlink_to(outside / "file")
    before = tree(outside)
    assert run().code == QUARANTINED
    assert tree(outside) == before
    assert receipt(node, sent.name)["state"] == "merged"
    assert receipt(node, name_of(2))["state"] == "quarantined"
    assert not (node / f"quarantine/{name_of(2)}/REASON").is_symlink()


def test_a_link_in_aside_is_not_followed_and_the_old_file_stays(node: Path, run: Receive) -> None:
    old, new = batch(1, DOG), batch(2, dict.fromkeys(DOG, b"new"))
    old.send(node)
    run()
    (node / "aside").mkdir()
    (node / "aside" / old.name).symlink_to(node.parent / "outside")
    new.send(node)
    before = tree(node.parent, OWN)
    assert run().code == CANNOT
    assert tree(node.parent, OWN) == before
    (node / "aside" / old.name).unlink()
    assert run().code == FINE
    assert_has(node, new)


# --- signatures --------------------------------------------------------------------------------

SECRET = "correct horse battery stapleü"


@pytest.fixture
def secret_file(tmp_path: Path) -> Path:
    file = tmp_path / "secret"
    file.write_text(f"{SECRET}\n", encoding="utf-8")
    file.chmod(0o600)
    return file


def test_a_signed_batch_gets_a_signed_receipt(node: Path, run: Receive, secret_file: Path) -> None:
    sent = batch(1, DOG)
    for _ in range(2):
        sent.send(node, SECRET)
        assert run("--secret-file", secret_file).code == FINE
        assert_has(node, sent)
        text = (node / f"received/{sent.name}.json").read_bytes()
        assert (node / f"received/{sent.name}.json.hmac").read_bytes() == sign(text, SECRET)
        assert_all_taken(node)


FORGED: dict[str, Callable[[Path], object]] = {
    "none": lambda file: file.unlink(),
    "empty": lambda file: file.write_bytes(b""),
    "of another secret": lambda file: file.write_bytes(sign(b"?", SECRET)),
    "of no letters": lambda file: file.write_bytes(b"\xff" * 64),
    "too long": lambda file: file.write_bytes(file.read_bytes() * 2**15),
    "a link": lambda file: (
        file.rename(file.parent / "x").parent.joinpath(file.name).symlink_to("x")
    ),
}


@pytest.mark.parametrize("forge", FORGED.values(), ids=FORGED)
def test_without_the_right_signature_nothing_is_believed(
    node: Path, run: Receive, secret_file: Path, forge: Callable[[Path], object]
) -> None:
    sent = batch(1, DOG)
    folder = sent.send(node, SECRET)
    forge(folder / "manifest.json.hmac")
    said = run("--secret-file", secret_file)
    assert said.code == QUARANTINED
    assert (
        reason_for(node, sent)
        == "its manifest is not signed with the secret that this computer has"
    )
    assert_nothing_merged(node)
    text = (node / f"received/{sent.name}.json").read_bytes()
    assert (node / f"received/{sent.name}.json.hmac").read_bytes() == sign(text, SECRET)
    assert SECRET not in said.out + said.err


def test_a_forged_receipt_does_not_keep_a_batch_out(
    node: Path, run: Receive, secret_file: Path
) -> None:
    sent = batch(1, DOG)
    sent.send(node, SECRET)
    (node / "received").mkdir()
    forged = {"state": "merged", "manifest_sha256": sha256(sent.manifest), "batch": sent.name}
    numbers = {"files": 1, "bytes": 1, "replaced": 0, "time": "2026-11-16T12:00:00+00:00"}
    (node / f"received/{sent.name}.json").write_text(json.dumps({**forged, **numbers}))
    assert run("--secret-file", secret_file).code == FINE
    assert_has(node, sent)


def test_the_environment_goes_before_the_file(
    node: Path, run: Receive, secret_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(receive.SECRET, "another")
    batch(1, DOG).send(node, "another")
    batch(2, {"en/x": b"?"}).send(node, SECRET)
    assert run("--secret-file", secret_file).code == QUARANTINED
    assert merged(node) == DOG


SECRETS: dict[str, tuple[Callable[[Path], object], str]] = {
    "others can read it": (lambda file: file.chmod(0o640), "chmod 600"),
    "not there": (lambda file: file.unlink(), "cannot be read"),
    "empty": (lambda file: file.write_text("\n"), "is empty"),
    "not text": (lambda file: file.write_bytes(b"\xff"), "cannot be read"),
}


@pytest.mark.parametrize(("spoil", "sentence"), SECRETS.values(), ids=SECRETS)
def test_a_file_for_the_secret_must_be_one(
    node: Path,
    run: Receive,
    secret_file: Path,
    spoil: Callable[[Path], object],
    sentence: str,
) -> None:
    batch(1, DOG).send(node)
    spoil(secret_file)
    said = run("--secret-file", secret_file)
    assert (said.code, said.out) == (USAGE, "")
    assert sentence in said.err and len(said.err.splitlines()) == 1 and SECRET not in said.err
    assert_nothing_merged(node)
