"""`kill -9` at each system call of receive.py: one more run completes what was begun."""

from __future__ import annotations

import os
import re
import shutil
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from random import Random
from typing import NamedTuple

import pytest

from tests.faults.injection import injected, run
from tests.support.chance import any_seed
from tests.support.crafted import (
    DOG,
    FINE,
    Batch,
    archive_batch,
    assert_all_taken,
    batch,
    command,
    merged,
    new_node,
    receipt,
    receive,
    records,
    sha256,
)
from tests.support.needs import program

CALLS = {  # how many kills of each kind, unless SHEAF_SWEEP=all
    "openat": 4,
    "write": 8,
    "fsync": 6,
    "sync": 3,
    "renameat": 8,
    "linkat": 2,
    "mkdirat": 2,
    "unlinkat": 8,
}
PLACES = ("m", "archive", "aside")
KILLED = -9
AT_ONCE = 2

# One file is replaced, one is there already, and one is there in a later version.
BEFORE = batch(1, {"en/dog/image/0.jpg": b"old", "en/cat/image/0.jpg": b"same"})
LATER = batch(9, {"en/owl/image/0.jpg": b"later"}, owner="/c/en/owl")
# What a sender brings last was fetched before what another has brought, and one has the same file.
AT = "2024-11-17T12:00:0{}Z"
YAK, DOG_2 = "en/yak/image/0.jpg", "en/dog/image/2.jpg"


def yak(sender: str, second: int, counter: int, files: dict[str, bytes]) -> Batch:
    harvest = sha256(sender.encode())[:8]
    return batch(counter, files, harvest, owner="/c/en/yak", sender=sender, time=AT.format(second))


SENDERS = (
    yak("ash", 1, 7, {YAK: b"oldest"}),
    yak("elm", 3, 1, {YAK: b"newest"}),
    yak("oak", 2, 1, {YAK: b"older", DOG_2: DOG[DOG_2]}),
)
SENT = (
    *SENDERS,
    batch(2, {**DOG, "en/cat/image/0.jpg": b"same", "en/owl/image/0.jpg": b"late"}),
    batch(3, {"en/ant/image/0.jpg": b"ant", "en/dog/image/1.jpg": b"newest"}, owner="/c/en/ant"),
    archive_batch(4, {f"5b/a.org/a.org-20261117000000-0000{at}.warc.gz": b"w" for at in range(3)}),
)
FILES = {**BEFORE.files, **SENT[3].files, **SENT[4].files, **LATER.files, **SENDERS[1].files}


class Kill(NamedTuple):
    call: str
    number: int

    def __str__(self) -> str:
        return f"{self.call}:signal=SIGKILL:when={self.number}"


class Undisturbed(NamedTuple):
    calls: dict[str, range]  # their numbers, after those that Python makes for itself
    content: dict[str, bytes]


@pytest.fixture(scope="module")
def given(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A node that has something already, and to which two batches have come."""
    node = new_node(tmp_path_factory.mktemp("given"))
    for each in (BEFORE, LATER):
        each.send(node)
    take(node)
    for each in SENT:
        each.send(node)
    return node


def take(node: Path) -> None:
    assert receive.main([str(node), "--quiet", "--reserve-mb", "0"]) == FINE


@pytest.fixture(scope="module")
def undisturbed(given: Path, tmp_path_factory: pytest.TempPathFactory) -> Undisturbed:
    folder = tmp_path_factory.mktemp("undisturbed")
    node = shutil.copytree(given, folder / "node")
    trace = ["-o", str(folder / "trace"), "-e", f"trace={','.join(CALLS)}"]
    code, process = run(folder, [program("strace"), "-qqq", *trace, *command(node)])
    assert code == FINE, process.log
    before, ours = re.split(r"(?m)^(?=openat\(.*\.receive\.lock)", (folder / "trace").read_text())
    first, count = (Counter(re.findall(r"(?m)^(\w+)\(", text)) for text in (before, ours))
    calls = {call: range(first[call] + 1, first[call] + count[call] + 1) for call in CALLS}
    assert all(calls.values()), calls
    assert_complete(node)
    return Undisturbed(calls, content(node))


def content(node: Path) -> dict[str, bytes]:
    """Of what a batch brings, the books included; and of what it has driven out."""
    files = [path for name in PLACES for path in (node / name).rglob("*") if path.is_file()]
    return {str(path.relative_to(node)): path.read_bytes() for path in files}


def assert_complete(node: Path) -> None:
    assert merged(node) == FILES
    known = sorted((each["path"], each["sha256"]) for each in records(node))
    assert known == sorted((path, sha256(body)) for path, body in FILES.items())
    assert_all_taken(node)
    for each in SENT:
        told = receipt(node, each.place)
        assert (told["state"], told["manifest_sha256"]) == ("merged", sha256(each.manifest))


def kills(undisturbed: Undisturbed, chance: Random) -> Iterator[Kill]:
    """Some of every kind, or all there are."""
    for call, wanted in CALLS.items():
        there = undisturbed.calls[call]
        is_all = os.environ.get("SHEAF_SWEEP") == "all"
        chosen = there if is_all else chance.sample(there, min(wanted, len(there)))
        yield from (Kill(call, number) for number in chosen)


def test_a_kill_at_any_system_call_is_made_good_by_the_next_run(
    tmp_path: Path, given: Path, undisturbed: Undisturbed
) -> None:
    """All of them, a few minutes: SHEAF_SWEEP=all."""
    seed = any_seed()
    print(f"kills drawn with seed {seed}")
    chance = Random(seed)
    first = list(kills(undisturbed, chance))
    second = chance.sample(first, len(first))  # the next run is killed too, somewhere

    def killed(at: int) -> tuple[Path, list[int]]:
        node = shutil.copytree(given, tmp_path / str(at) / "node")
        words = ([*injected(str(kill)), *command(node)] for kill in (first[at], second[at]))
        return node, [run(node.parent, each)[0] for each in words]

    ended: Counter[int] = Counter()
    with ThreadPoolExecutor(AT_ONCE) as executor:
        for kill, (node, codes) in zip(first, executor.map(killed, range(len(first))), strict=True):
            ended.update(codes)
            take(node)
            assert_complete(node)
            assert content(node) == undisturbed.content, kill
            shutil.rmtree(node)
    print(f"{ended[KILLED]} were killed, {ended[FINE]} ended by themselves before that")
    assert set(ended) <= {KILLED, FINE}
    assert ended[KILLED] >= len(first)
