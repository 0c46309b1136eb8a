"""Whatever is wrong with one batch, the others on the node have their turn."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.faults.injection import Process, limited, wait_until
from tests.support.crafted import (
    CANNOT,
    DOG,
    END,
    FINE,
    QUARANTINED,
    Batch,
    Receive,
    assert_has,
    batch,
    close,
    command,
    craft,
    name_of,
    new_node,
    plain,
    receipt,
    receive,
    receive_as_user,
    receiving,
    records,
)

FIRST = "00000000"  # a harvest whose batches come before those of all others
DEPTH = 1100  # deeper than Python calls itself
TERABYTES = 10 * 10**12 // 512 * 512
MEMORY = 120 * 2**20


@pytest.fixture
def node(tmp_path: Path) -> Iterator[Path]:
    yield new_node(tmp_path)
    subprocess.run(["rm", "-rf", str(tmp_path / "node")], check=True)  # shutil calls itself too


@pytest.fixture
def run(node: Path, capfd: pytest.CaptureFixture[str]) -> Iterator[Receive]:
    with receiving(node, capfd) as run:
        yield run


@pytest.fixture
def good(node: Path) -> Batch:
    """It comes after the bad one."""
    sent = batch(1, DOG)
    sent.send(node)
    return sent


def bad(node: Path) -> Path:
    """One that belongs into quarantine."""
    folder = batch(1, {"en/x": b"?"}, harvest=FIRST).send(node)
    (folder / "manifest.json").write_text("{}")
    return folder


def plant_tree(folder: Path, depth: int = DEPTH) -> None:
    folder.mkdir()
    at = os.open(folder, os.O_RDONLY)
    for _ in range(depth):
        os.mkdir("d", dir_fd=at)
        os.close(os.open("file", os.O_CREAT, dir_fd=at))
        at, above = os.open("d", os.O_RDONLY, dir_fd=at), at
        os.close(above)
    os.close(at)


def is_over(node: Path, sent: Batch) -> None:
    """It is merged, and told so."""
    assert receipt(node, sent.name)["state"] == "merged"
    assert not (node / "raw" / sent.name).exists()


# --- what lies in it ---------------------------------------------------------------------------


def plant_folder(folder: Path) -> None:
    (folder / "REASON/inner").mkdir(parents=True)


SHAPES: dict[str, Callable[[Path], None]] = {
    "a folder as reason": plant_folder,
    "a tree as half a reason": lambda folder: plant_tree(folder / "REASON.part"),
}


@pytest.mark.parametrize("plant", SHAPES.values(), ids=SHAPES)
def test_what_lies_in_the_place_of_the_reason_keeps_nobody_out(
    node: Path, run: Receive, good: Batch, plant: Callable[[Path], None]
) -> None:
    plant(folder := bad(node))
    assert run().code == QUARANTINED
    assert_has(node, good)
    is_over(node, good)
    assert receipt(node, folder.name)["state"] == "quarantined"
    assert "lacks 'format'" in (node / "quarantine" / folder.name / "REASON").read_text()
    assert not folder.exists()
    assert run() == (FINE, "", "")


def test_a_deep_tree_beside_the_volumes_goes_with_them(
    node: Path, run: Receive, good: Batch
) -> None:
    first = batch(1, {"en/x": b"?"}, harvest=FIRST)
    plant_tree(first.send(node) / "00001.tar.part")
    assert run().code == FINE
    assert_has(node, first, good)
    assert list((node / "raw").iterdir()) == list((node / "staging").iterdir()) == []


def test_a_deep_tree_in_staging_is_erased(node: Path, run: Receive, good: Batch) -> None:
    (node / "staging").mkdir()
    plant_tree(node / "staging/old")
    assert run().code == FINE
    assert_has(node, good)
    assert list((node / "staging").iterdir()) == []


def test_the_depth_and_the_width_of_a_tree_cost_no_descriptors(node: Path, good: Batch) -> None:
    """Links in it are erased, and what they show is not."""
    outside = node.parent / "outside"
    plant_tree(node / "staging", 5)
    plant_tree(node / "staging/old")
    for number in range(200):
        (node / "staging/d/d" / str(number) / "d").mkdir(parents=True)
        (node / "staging/d/d" / str(number) / "d/link").symlink_to(outside)
    words = [*limited(nofile="32:32"), *command(node)]
    done = subprocess.run(words, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (FINE, "")
    assert_has(node, good)
    assert list((node / "staging").iterdir()) == []
    assert (outside / "file").read_text() == "of somebody else"


# --- how large it is ---------------------------------------------------------------------------


def test_a_volume_of_holes_that_fits_no_disk_waits_alone(
    node: Path, run: Receive, good: Batch
) -> None:
    sent = craft(name_of(1, FIRST), [[plain("en/x", b"")]], [[("en/x", b"")]])
    table = sent.table["volumes"][0]
    table["members"][0]["bytes"] = TERABYTES
    table["bytes"] += TERABYTES
    os.truncate(sent.send(node) / "00001.tar", table["bytes"])
    for words in ([], ["--dry-run"]):
        said = run(*words)
        assert said.code == CANNOT
        assert said.err.startswith(f"receive: {sent.name} needs 10,000,000.0 MB on this disk and ")
        assert said.err.endswith(": make room\n") and len(said.err.splitlines()) == 1
    assert_has(node, good)
    is_over(node, good)
    assert not (node / "received" / f"{sent.name}.json").exists(), "it waits"


def test_a_manifest_of_holes_is_not_read_to_its_end(node: Path, run: Receive, good: Batch) -> None:
    folder = batch(1, {"en/x": b"?"}, harvest=FIRST).send(node)
    os.truncate(folder / "manifest.json", TERABYTES)
    assert run().code == QUARANTINED
    is_over(node, good)
    assert (receipt(node, folder.name)["state"], receipt(node, folder.name)["manifest_sha256"]) == (
        "quarantined",
        "",
    )


def members(paths: Iterator[str]) -> bytes:
    """A manifest that lists these as empty files, and fits."""
    sent = craft(name_of(1, FIRST), [[plain("en/x", b"")]], [[("en/x", b"")]])
    (table,) = sent.table["volumes"]
    (member,) = table["members"]
    table["members"] = [{**member, "path": path} for path in paths]
    rooms = (receive._room(receive.Member(**each)) for each in table["members"])
    table["bytes"] = sum(rooms) + len(END)
    return sent.manifest


HUGE: dict[str, Callable[[], bytes]] = {
    "folders in folders": lambda: members(f"{n:05}/{'a/' * 2040}x" for n in range(300)),
    "brackets": lambda: b"[" + b"[]," * 2**21 + b"[]]",
    "letters": lambda: b"[" + b'"ab",' * 2**21 + b"1]",
}


@pytest.mark.parametrize("manifest", HUGE.values(), ids=HUGE)
def test_a_small_manifest_takes_little_memory(
    node: Path, good: Batch, manifest: Callable[[], bytes]
) -> None:
    folder = batch(1, {"en/x": b"?"}, harvest=FIRST).send(node)
    (folder / "manifest.json").write_bytes(manifest())
    words = [*limited(data=MEMORY), *command(node)]
    done = subprocess.run(words, capture_output=True, text=True, timeout=60)
    assert done.returncode == QUARANTINED, done.stderr
    is_over(node, good)


def test_one_that_takes_more_memory_than_there_is_waits_alone(node: Path, good: Batch) -> None:
    folder = batch(1, {"en/x": b"?"}, harvest=FIRST).send(node)
    (folder / "manifest.json").write_bytes(members(f"en/{n}" for n in range(200_000)))
    words = [*limited(data=MEMORY), *command(node)]
    done = subprocess.run(words, capture_output=True, text=True, timeout=60)
    text = (
        f"receive: {folder.name} is left for now: it takes more memory than this computer gives\n"
    )
    assert (done.returncode, done.stderr) == (CANNOT, text)
    is_over(node, good)


def test_folders_take_room_too(node: Path, run: Receive, monkeypatch: pytest.MonkeyPatch) -> None:
    paths = [f"{letter}/1/{letter}/x" for letter in "abc"] + ["a/1/y", "x"]
    listed = [(path, b"") for path in paths]
    sent = craft(name_of(1), [[plain(*each) for each in listed]], [listed])
    sent.files = dict(listed)
    sent.send(node)
    free = 9 * 4096
    monkeypatch.setattr("receive.Folder.free", property(lambda _: free - 1))
    assert run().code == CANNOT
    monkeypatch.setattr("receive.Folder.free", property(lambda _: free))
    assert run().code == FINE


# --- what we may not do ------------------------------------------------------------------------


def test_one_that_is_closed_to_us_is_named_and_left(node: Path, good: Batch) -> None:
    folder = batch(1, {"en/x": b"?"}, harvest=FIRST).send(node)
    close(folder)
    place = f"raw/{folder.name}"
    looked = receive_as_user(node, "--status")
    assert looked.code == CANNOT and f"{place}  cannot be taken now\n" in looked.out
    assert f"raw/{good.name}  is complete" in looked.out
    said = receive_as_user(node)
    assert said.code == CANNOT and good.name in said.out
    assert said.err == (
        f"receive: {folder.name} is left for now: {place}/manifest.json: Permission denied: "
        "see to it, then run this again\n"
    )
    assert_has(node, good)
    is_over(node, good)
    folder.chmod(0o700)
    assert folder.exists()


def test_one_that_cannot_go_into_quarantine_is_told_and_left(node: Path, good: Batch) -> None:
    close(folder := bad(node), 0o555)
    said = receive_as_user(node)
    assert said.code == CANNOT
    assert f"{folder.name} is left for now: " in said.err and "Permission denied" in said.err
    assert receipt(node, folder.name)["state"] == "quarantined", "the sender is told"
    is_over(node, good)


def test_one_of_which_a_part_cannot_be_erased_is_merged(node: Path, good: Batch) -> None:
    first = batch(1, {"en/x": b"?"}, harvest=FIRST)
    closed = first.send(node) / "00001.tar.part"
    (closed / "inner").mkdir(parents=True)
    close(closed)
    for _ in range(2):
        said = receive_as_user(node)
        assert said.code == CANNOT and said.err.count("\n") == said.err.count(": Permission denied")
        assert_has(node, first, good)
        is_over(node, first)
        is_over(node, good)


def test_a_closed_folder_in_quarantine_keeps_nothing_from_being_shown(
    node: Path, good: Batch
) -> None:
    (node / "quarantine/old").mkdir(parents=True)
    close(node / "quarantine/old")
    said = receive_as_user(node, "--status")
    assert said.code == FINE and f"raw/{good.name}" in said.out
    assert "quarantine/old" in said.out and "its reason cannot be read" in said.out


def test_quarantine_is_told_where_something_else_is_left_too(
    node: Path, run: Receive, good: Batch
) -> None:
    bad(node)
    sent = batch(2, {"en/x": bytes(5000)}, harvest=FIRST)
    sent.send(node)
    (node / f"received/{sent.name}.json/full").mkdir(parents=True)
    said = run()
    assert said.code == QUARANTINED
    assert f"{sent.name} is left for now: received/{sent.name}.json" in said.err
    is_over(node, good)
    assert run().code == CANNOT


def test_whoever_watches_takes_the_others_and_says_it_once(node: Path, tmp_path: Path) -> None:
    bad_one = batch(1, {"en/x": bytes(5000)}, harvest=FIRST)
    bad_one.send(node)
    (node / f"received/{bad_one.name}.json/full").mkdir(parents=True)
    first, second = batch(1, DOG), batch(2, {"en/cat": b"2"})
    first.send(node)
    with Process(tmp_path / "said", command(node, "--watch", "1")) as watching:
        wait_until(lambda: first.name in watching.said)
        second.send(node)
        wait_until(lambda: second.name in watching.said)
        watching.signal(signal.SIGTERM)
        assert watching.end() == FINE
        assert watching.log.count("is left for now") == 1


# --- the books ---------------------------------------------------------------------------------


def test_nothing_of_one_that_was_given_up_stays_in_the_books(
    node: Path, run: Receive, good: Batch
) -> None:
    """Its last book cannot be written, when its lines stand in the two others already."""
    first = batch(1, {"en/x": b"?"}, harvest=FIRST)
    first.send(node)
    (node / "m/SEARCHES.jsonl").mkdir(parents=True)
    said = run()
    assert said.code == CANNOT
    assert said.err.count("is left for now: m/SEARCHES.jsonl: ") == 2
    for book in ("MEDIA.jsonl", "ATTRIBUTION.csv"):
        assert (node / "m" / book).read_bytes() == b""
    (node / "m/SEARCHES.jsonl").rmdir()
    assert run().code == FINE
    assert_has(node, first, good)


def test_a_line_that_is_nested_deeply_harms_its_own_batch_only(
    node: Path, run: Receive, good: Batch
) -> None:
    """Python reads some of these at one place of the script and not at another."""
    for depth in (*range(60, 70), *range(930, 980, 2)):
        nested = f'{{"path":"en/{depth}","owner":"o","x":{"[" * depth}{"]" * depth}}}\n'
        listed = [(f"en/{depth}", b"?"), ("MEDIA.jsonl", nested.encode())]
        craft(name_of(depth, FIRST), [[plain(*each) for each in listed]], [listed]).send(node)
    said = run()
    assert said.code == FINE and "a bug" not in said.err
    is_over(node, good)
    assert list((node / "raw").iterdir()) == []


def test_a_bug_in_the_script_is_that_of_its_batch_only(
    node: Path, run: Receive, good: Batch, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = batch(1, {"en/x": b"?"}, harvest=FIRST)
    first.send(node)
    merge = receive.Node._merge

    def buggy(self: receive.Node, name: str, manifest: receive.Manifest) -> dict[str, Any]:
        done = merge(self, name, manifest)
        if name != good.name:
            raise KeyError(name)
        return done

    monkeypatch.setattr(receive.Node, "_merge", buggy)
    said = run()
    assert (said.code, said.err.splitlines()) == (
        CANNOT,
        [f"receive: {first.name} is left for now: a bug in receive.py: KeyError('{first.name}')"],
    )
    is_over(node, good)
    assert [each["path"] for each in records(node)] == list(DOG), "nothing of it is in the books"


@pytest.mark.parametrize("text", ["", "{", "[]", '{"batch":"x"}', '{"sizes":{}}'])
def test_a_damaged_journal_is_a_sentence(node: Path, run: Receive, good: Batch, text: str) -> None:
    (node / "staging").mkdir()
    (node / "staging/books.json").write_text(text)
    said = run()
    assert (said.code, said.out) == (CANNOT, "")
    assert said.err.startswith("receive: staging/books.json is damaged, so nobody knows ")
    assert (node / "staging/books.json").exists()
    (node / "staging/books.json").unlink()
    assert run().code == FINE
    assert_has(node, good)
