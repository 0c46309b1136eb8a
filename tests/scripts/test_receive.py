"""The receiving node's side: what was sent is in m, byte by byte, and stands in the books once."""

from __future__ import annotations

import ast
import json
import os
import pty
import re
import shutil
import signal
import stat
import subprocess
import sys
import tarfile
from collections.abc import Callable, Iterator
from io import BytesIO
from pathlib import Path

import pytest

from tests.faults.injection import Process, SmallDisk, injected, small_disk, wait_until
from tests.story.test_operating import EXPOSURE, analyze
from tests.support.command import ROOT, clean_environment
from tests.support.crafted import (
    CANNOT,
    DOG,
    FINE,
    OTHER_HARVEST,
    QUARANTINED,
    RUNNING,
    SCRIPT,
    USAGE,
    Batch,
    Receive,
    assert_all_taken,
    assert_has,
    assert_nothing_merged,
    batch,
    command,
    craft,
    lines,
    merged,
    name_of,
    new_node,
    plain,
    reason_for,
    receipt,
    receive,
    receiving,
    records,
    sha256,
    tree,
)
from tools.add import Media
from tools.media.credits import COLUMNS
from tools.media.ledger_lines import BOOKS
from tools.shipping.settings import SENDER

CAT = {"en/cat/image/0.jpg": b"cat" * 1000, "en/Straße/ü 😀.jpg": b"s", "en/empty/image/0.jpg": b""}


@pytest.fixture
def node(tmp_path: Path) -> Path:
    return new_node(tmp_path)


@pytest.fixture
def run(node: Path, capfd: pytest.CaptureFixture[str]) -> Iterator[Receive]:
    with receiving(node, capfd) as run:
        yield run


# --- what is good ------------------------------------------------------------------------------


def test_a_batch_is_merged_hash_by_hash(node: Path, run: Receive) -> None:
    sent = batch(1, {**DOG, **CAT, f"en/{'x' * 120}/image/0.jpg": b"long"})
    sent.send(node)
    said = run()
    assert (said.code, said.err) == (FINE, "")
    assert re.fullmatch(rf"{sent.name} is merged: 9 files, 0.0 MB in \d+\.\d s\n", said.out)
    assert_has(node, sent)
    assert_all_taken(node)
    told = receipt(node, sent.name)
    assert re.fullmatch(r"20..-..-..T..:..:..\+00:00", told.pop("time"))
    assert told == {
        "format": 1,
        "batch": sent.name,
        "manifest_sha256": sha256(sent.manifest),
        "state": "merged",
        "reason": "",
        "files": 9,
        "bytes": sum(map(len, sent.files.values())),
        "replaced": 0,
    }


def test_its_lines_say_from_which_batch_they_are(node: Path, run: Receive) -> None:
    sent = batch(1, CAT)
    sent.send(node)
    run()
    assert [each["batch"] for each in records(node)] == [sent.name] * 3
    assert set(records(node)[0]) == {"owner", "batch", *Media._fields}
    assert records(node)[1]["title"] == f'"ü 😀" ü of {sent.name}'


def test_several_batches_share_the_books(node: Path, run: Receive) -> None:
    batches = [batch(2, DOG), batch(10, CAT, owner="/c/en/cat"), batch(1, {"a/b.jpg": b"x"})]
    for each in batches:
        each.send(node)
    said = run("--once")
    assert [line.split()[0] for line in said.out.splitlines()] == [name_of(n) for n in (1, 2, 10)]
    assert_has(node, *batches)
    assert len(lines(node, "SEARCHES.jsonl")) == 3
    assert_all_taken(node)


def test_a_batch_without_media_brings_its_searches(node: Path, run: Receive) -> None:
    batch(1, {}).send(node)
    assert run().code == FINE
    assert len(lines(node, "SEARCHES.jsonl")) == 1
    assert receipt(node, name_of(1))["files"] == 0


def test_others_can_read_the_media_but_not_what_is_doubtful(node: Path, run: Receive) -> None:
    batch(1, DOG).send(node)
    craft(name_of(2), [[]], [[("en/x", b"")]]).send(node)
    assert run().code == QUARANTINED
    for folder in (node / "m", node / "received"):
        for path in (folder, *folder.rglob("*")):
            assert stat.S_IMODE(path.stat().st_mode) == (0o755 if path.is_dir() else 0o644), path
    for name in ("staging", "quarantine"):
        assert stat.S_IMODE((node / name).stat().st_mode) == 0o700


def test_the_script_and_the_harvest_mean_the_same() -> None:
    assert receive.BOOKS == BOOKS
    assert receive.HEAD.decode() == f"{','.join(COLUMNS)}\n"
    assert receive.SENDER == SENDER


# --- what is on its way ------------------------------------------------------------------------


def test_what_has_no_manifest_is_left_alone(node: Path, run: Receive) -> None:
    sent = batch(1, DOG)
    folder = sent.send_volumes(node, 3, 1)
    (folder / "00002.tar.part").write_bytes(b"?")
    before = tree(node)
    assert run() == (FINE, f"{sent.name} waits for its manifest; 2 volumes have arrived\n", "")
    assert tree(node, [".receive.lock"]) == before


def test_a_missing_volume_is_named_and_waited_for(node: Path, run: Receive) -> None:
    sent = batch(1, DOG)
    folder = sent.send(node)
    (folder / "00001.tar").unlink()
    (folder / "00003.tar").rename(folder / "00003.tar.part")
    sizes = f"{len(sent.volumes[2]) / 1e6:.1f} MB of {len(sent.volumes[2]) / 1e6:.1f} MB are there"
    waits = f"{sent.name} waits for 00001.tar, 00003.tar ({sizes})\n"
    assert run() == (FINE, waits, "")
    assert_nothing_merged(node)
    sent.send_volumes(node, 3, 1)
    assert run().code == FINE
    assert_has(node, sent)
    assert_all_taken(node)


def test_a_later_batch_does_not_wait_for_an_earlier_one(node: Path, run: Receive) -> None:
    first, second = batch(1, DOG), batch(2, CAT)
    first.send_volumes(node)
    second.send(node)
    run()
    assert_has(node, second)
    first.send(node)
    run()
    assert_has(node, second, first)


@pytest.mark.parametrize("spoilt", ["truncated", "longer", "flipped", "of another batch", "a link"])
def test_a_wrong_volume_is_set_aside_and_another_one_waited_for(
    node: Path, run: Receive, spoilt: str
) -> None:
    sent, other = batch(1, DOG), batch(2, CAT)
    right, volume = sent.volumes[1], sent.send(node) / "00002.tar"
    wrong = {
        "truncated": right[:-1],
        "longer": right + b"\0",
        "flipped": right[:-1] + b"\1",
        "of another batch": other.volumes[0],
    }
    if spoilt == "a link":
        volume.unlink()
        volume.symlink_to("../../../outside/file")
    else:
        volume.write_bytes(wrong[spoilt])
    said = run()
    waits = f"{sent.name} waits for 00002.tar\n"
    assert (said.code, said.out) == (QUARANTINED, waits)
    assert said.err.startswith(f"receive: quarantine/{sent.name}-volumes/00002.tar: it ")
    assert not volume.exists() and not (node / "m").exists()
    aside = node / f"quarantine/{sent.name}-volumes"
    assert (aside / "REASON").read_text().startswith("00002.tar: it ")
    assert spoilt == "a link" or (aside / "00002.tar").read_bytes() == wrong[spoilt]
    assert run() == (FINE, waits, "")
    sent.send_volumes(node, 2)
    assert run().code == FINE
    assert_has(node, sent)


def test_all_wrong_volumes_are_found_at_once(node: Path, run: Receive) -> None:
    sent = batch(1, DOG)
    folder = sent.send(node)
    for name in ("00001.tar", "00003.tar"):
        (folder / name).write_bytes((folder / name).read_bytes()[::-1])
    assert len(run().err.splitlines()) == 2
    left = {each.name for each in folder.iterdir()}
    assert left == {"00002.tar", "00004.tar", "manifest.json"}


def test_of_a_volume_that_is_wrong_again_and_again_one_is_kept(node: Path, run: Receive) -> None:
    sent = batch(1, DOG)
    for number in range(3):
        (sent.send(node) / "00001.tar").write_bytes(b"%d" % number)
        assert run().code == QUARANTINED
    kept = node / f"quarantine/{sent.name}-volumes"
    assert sorted(each.name for each in kept.iterdir()) == ["00001.tar", "REASON"]
    assert (kept / "00001.tar").read_bytes() == b"2"


# --- what comes again --------------------------------------------------------------------------


def test_a_duplicate_is_merged_once_and_gets_a_new_receipt(node: Path, run: Receive) -> None:
    sent = batch(1, DOG)
    sent.send(node)
    run()
    before = tree(node / "m")
    first = (node / f"received/{sent.name}.json").stat().st_ino
    (sent.send(node) / "00002.tar").unlink()  # of what is merged nothing is missing
    assert run().code == FINE
    assert tree(node / "m") == before
    assert receipt(node, sent.name)["files"] == len(DOG)
    assert (node / f"received/{sent.name}.json").stat().st_ino != first
    assert_all_taken(node)


def test_a_duplicate_whose_receipt_was_lost_changes_nothing(node: Path, run: Receive) -> None:
    sent = batch(1, DOG)
    sent.send(node)
    run()
    shutil.rmtree(node / "received")
    sent.send(node)
    assert run().code == FINE
    assert_has(node, sent)
    assert receipt(node, sent.name)["state"] == "merged"


def test_another_batch_of_the_same_name_is_refused(node: Path, run: Receive) -> None:
    batch(1, DOG).send(node)
    run()
    before = tree(node / "m")
    forged = batch(1, {"en/dog/image/0.jpg": b"forged"})
    forged.send(node)
    assert run().code == QUARANTINED
    assert reason_for(node, forged) == "another batch of this name was merged before"
    assert tree(node / "m") == before


def test_what_was_in_quarantine_may_be_brought_back(
    node: Path, run: Receive, monkeypatch: pytest.MonkeyPatch
) -> None:
    sent = batch(1, DOG)
    sent.send(node)
    with monkeypatch.context() as patch:
        patch.setenv(receive.SECRET, "not the sender's")
        assert run().code == QUARANTINED
    (node / "quarantine" / sent.name).rename(node / "raw" / sent.name)
    assert run().code == FINE
    assert_has(node, sent)
    assert receipt(node, sent.name)["state"] == "merged"


def test_a_second_quarantine_of_a_name_has_a_place_of_its_own(node: Path, run: Receive) -> None:
    for number in range(3):
        (batch(1, DOG).send(node) / "manifest.json").write_text(f"{number}")
        assert run().code == QUARANTINED
    folders = sorted((node / "quarantine").iterdir())
    assert [each.name for each in folders] == [name_of(1), f"{name_of(1)}-1", f"{name_of(1)}-2"]
    assert [(each / "manifest.json").read_text() for each in folders] == ["0", "1", "2"]


def test_what_the_manifest_does_not_list_is_not_erased_with_the_rest(
    node: Path, run: Receive
) -> None:
    sent = batch(1, DOG)
    (sent.send(node) / "00009.tar").write_bytes(b"of another batch?")
    said = run()
    assert (said.code, receipt(node, sent.name)["state"]) == (QUARANTINED, "merged")
    reason = f"{sent.name} is merged, but its manifest does not list this"
    assert said.err == f"receive: quarantine/{sent.name}/00009.tar: {reason}\n"
    left = sorted(each.name for each in (node / "quarantine" / sent.name).iterdir())
    assert left == ["00009.tar", "REASON"]
    assert_has(node, sent)
    assert list((node / "raw").iterdir()) == []


# --- the same path, other content --------------------------------------------------------------

OLD = {"en/dog/image/0.jpg": b"old", "en/dog/image/1.jpg": b"same", "en/dog/image/2.jpg": b"alone"}
NEW = {"en/dog/image/0.jpg": b"new", "en/dog/image/1.jpg": b"same", "en/dog/image/3.jpg": b"more"}


def one_after_the_other(node: Path, run: Receive, *batches: Batch) -> list[str]:
    """What is said of the last one."""
    for each in batches:
        each.send(node)
        said = run()
        assert (said.code, said.err) == (FINE, "")
    assert_all_taken(node)
    return said.out.splitlines()


@pytest.mark.parametrize("is_late", [False, True], ids=["in order", "late"])
def test_of_one_harvest_the_higher_counter_wins(node: Path, run: Receive, is_late: bool) -> None:
    old, new = batch(9, OLD), batch(10, NEW)
    said = one_after_the_other(node, run, *((new, old) if is_late else (old, new)))
    assert merged(node) == {**OLD, **NEW}
    known = {each["path"]: (each["batch"], each["sha256"]) for each in records(node)}
    assert len(lines(node, "MEDIA.jsonl")) == len(known) == 4
    assert known["en/dog/image/0.jpg"] == (new.name, sha256(b"new"))
    assert known["en/dog/image/2.jpg"] == (old.name, sha256(b"alone"))
    rows = [row.decode().split(",") for row in lines(node, "ATTRIBUTION.csv")[1:]]
    assert sorted(row[0] for row in rows) == sorted(known)
    assert [new.name in row[3] for row in rows if row[0] == "en/dog/image/0.jpg"] == [True]
    searches = [json.loads(line) for line in lines(node, "SEARCHES.jsonl")]
    assert [each["batch_of_test"] for each in searches] == [new.name]
    assert set_aside(node) == {f"{old.name}/en/dog/image/0.jpg": b"old"}
    assert "en/dog/image/0.jpg" in said[0] and "aside" in said[0]
    assert receipt(node, new.name)["replaced"] == (0 if is_late else 1)


def set_aside(node: Path) -> dict[str, bytes]:
    found = [each for each in (node / "aside").rglob("*") if each.is_file()]
    return {str(each.relative_to(node / "aside")): each.read_bytes() for each in found}


def test_of_two_harvests_the_newcomer_wins(node: Path, run: Receive) -> None:
    first, second = batch(500, OLD, harvest=OTHER_HARVEST), batch(1, NEW)
    one_after_the_other(node, run, first, second)
    assert merged(node) == {**OLD, **NEW}
    assert set_aside(node) == {f"{first.name}/en/dog/image/0.jpg": b"old"}
    one_after_the_other(node, run, batch(501, OLD, harvest=OTHER_HARVEST))
    assert merged(node) == {**NEW, **OLD}
    assert set_aside(node)[f"{second.name}/en/dog/image/0.jpg"] == b"new"


def test_a_file_that_no_batch_has_brought_is_set_aside_too(node: Path, run: Receive) -> None:
    folder = node / "m/en/dog/image"
    folder.mkdir(parents=True)
    (folder / "0.jpg").write_bytes(b"by hand")
    (folder / "1.jpg").write_bytes(DOG["en/dog/image/1.jpg"])
    sent = batch(1, DOG)
    one_after_the_other(node, run, sent)
    assert_has(node, sent)
    assert set_aside(node) == {f"before-{sent.name}/en/dog/image/0.jpg": b"by hand"}


def test_what_a_killed_run_has_placed_is_not_taken_for_the_file_that_the_books_tell_of(
    node: Path, run: Receive
) -> None:
    """The batch that was killed comes again, but after one that is between the two."""
    path = "en/dog/image/0.jpg"
    first, second, third = (batch(number, {path: b"%d" % number}) for number in (1, 2, 3))
    one_after_the_other(node, run, first)
    (node / "aside" / first.name / path).parent.mkdir(parents=True)
    (node / "m" / path).rename(node / "aside" / first.name / path)
    (node / "m" / path).write_bytes(b"3")
    one_after_the_other(node, run, second, third)
    assert_has(node, third)
    assert {*set_aside(node).items()} >= {
        (f"{first.name}/{path}", b"1"),
        (f"{second.name}/{path}", b"2"),
    }


# --- the books ---------------------------------------------------------------------------------


def with_book(sent: Batch, book: str, change: Callable[[bytes], bytes]) -> Batch:
    """The same batch, of which one book is another."""
    with tarfile.open(fileobj=BytesIO(b"".join(sent.volumes))) as archive:
        files = [(each.name, archive.extractfile(each)) for each in archive]
        listed = [(name, file.read()) for name, file in files if file]
    listed = [(name, change(body) if name == book else body) for name, body in listed]
    made = craft(sent.name, [[plain(*each) for each in listed]], [listed])
    made.files = sent.files
    return made


def test_lines_of_files_that_the_sender_lost_do_not_come(node: Path, run: Receive) -> None:
    sent = batch(1, DOG, lost=["en/dog/image/9.jpg"])
    one_after_the_other(node, run, sent)
    assert_has(node, sent)


def test_a_file_that_stands_in_the_books_twice_is_as_it_stands_last(
    node: Path, run: Receive
) -> None:
    sent = with_book(batch(1, DOG), "MEDIA.jsonl", lambda text: text + text.replace(b"Ada", b"Eve"))
    one_after_the_other(node, run, sent)
    assert_has(node, sent)
    assert {each["author"] for each in records(node)} == {"Eve, Countess"}


@pytest.mark.parametrize("book", BOOKS)
def test_a_torn_line_is_told_and_its_book_kept(node: Path, run: Receive, book: str) -> None:
    sent = with_book(batch(1, DOG), book, lambda text: text + text.splitlines()[-1][:-30])
    sent.send(node)
    said = run()
    assert (said.code, said.err) == (
        FINE,
        f"receive: 1 lines of aside/{sent.name}/{book} cannot be read\n",
    )
    assert list(set_aside(node)) == [f"{sent.name}/{book}"]
    assert_has(node, sent)


def test_a_table_with_other_columns_is_not_mixed_with_ours(node: Path, run: Receive) -> None:
    sent = with_book(batch(1, DOG), "ATTRIBUTION.csv", lambda text: b"colour," + text)
    sent.send(node)
    assert run().code == QUARANTINED
    assert "has other columns" in reason_for(node, sent)
    assert_nothing_merged(node)


# --- the command -------------------------------------------------------------------------------


def test_a_trial_says_what_would_be_done_and_does_nothing(node: Path, run: Receive) -> None:
    good, flipped, wrong, waiting = (batch(number, DOG) for number in range(1, 5))
    good.send(node)
    (flipped.send(node) / "00001.tar").write_bytes(flipped.volumes[0][::-1])
    bad = plain("en/x", b"?", type=tarfile.CHRTYPE)
    wrong = craft(wrong.name, [[bad]], [[("en/x", b"?")]])
    wrong.send(node)
    waiting.send_volumes(node)
    before = tree(node)
    said = run("--dry-run")
    assert (said.code, said.err) == (FINE, "")
    assert said.out.splitlines() == [
        f"raw/{good.name}  is good: 4 volumes, 5 files, 0.0 MB",
        f"raw/{flipped.name}  belongs into quarantine: 00001.tar: it is not what the manifest says",
        f"raw/{wrong.name}  belongs into quarantine: 00001.tar does not have 'en/x' as a plain "
        "file in its place",
        f"raw/{waiting.name}  waits for its manifest; 4 volumes have arrived",
        "received: 0 files, 0.0 MB in 0 batches",
    ]
    assert tree(node) == before, "not even a lock"
    run("--status")
    assert tree(node) == before


def test_the_status_tells_what_waits_is_wrong_and_was_received(node: Path, run: Receive) -> None:
    for number in (1, 2):
        batch(number, {f"en/{number}.jpg": bytes(3_000_000)}).send(node)
    (batch(3, DOG).send(node) / "manifest.json").write_text("{}")
    run()
    batch(4, DOG).send(node)
    (batch(5, DOG).send(node) / "00002.tar").unlink()
    batch(1, {}).send(node)
    (node / "raw/notes\x1b[2J").write_text("?")
    (node / "raw" / name_of(6)).symlink_to(node / "raw" / name_of(4))
    said = run("--status")
    assert (said.code, said.err) == (FINE, "")
    table = [re.split("  +", line, maxsplit=1) for line in said.out.splitlines()]
    assert table == [
        [
            f"raw/{name_of(1)}",
            "belongs into quarantine: another batch of this name was merged before",
        ],
        [f"raw/{name_of(4)}", "is complete: 4 volumes, 5 files, 0.0 MB"],
        [f"raw/{name_of(5)}", "waits for 00002.tar"],
        [f"raw/{name_of(6)}", "is not a batch: left alone"],
        ["raw/notes\\x1b[2J", "is not a batch: left alone"],
        [f"quarantine/{name_of(3)}", "its manifest lacks 'format', or has something else there"],
        ["received: 2 files, 6.0 MB in 2 batches"],
        [f"last receipt: {name_of(2)} at {receipt(node, name_of(2))['time']}"],
    ]  # fmt: skip


def test_quiet_is_quiet_unless_something_is_wrong(node: Path, run: Receive) -> None:
    batch(1, DOG).send(node)
    batch(2, DOG).send_volumes(node)
    assert run("-q") == (FINE, "", "")
    (batch(3, DOG).send(node) / "manifest.json").write_text("{}")
    said = run("-q")
    assert (said.code, said.out) == (QUARANTINED, "") and said.err.startswith("receive: ")


def test_a_folder_that_is_not_there_is_a_wrong_argument(capfd: pytest.CaptureFixture[str]) -> None:
    assert receive.main(["/nowhere"]) == USAGE
    assert capfd.readouterr().err == "receive: there is no folder /nowhere\n"


def test_a_node_to_which_nothing_was_sent_yet_is_fine(node: Path, run: Receive) -> None:
    (node / "raw").rmdir()
    assert run() == run("--status", "-q") == (FINE, "", "")


def test_a_second_one_ends_at_once_and_a_signal_ends_the_first(node: Path, tmp_path: Path) -> None:
    first, second = batch(1, DOG), batch(2, CAT)
    with Process(tmp_path / "said", command(node, "--watch", "1")) as watching:
        first.send(node)
        wait_until((node / f"received/{first.name}.json").exists)
        for words in ([], ["--watch"], ["--dry-run"]):
            done = subprocess.run(command(node, *words), capture_output=True, text=True, timeout=60)
            said = done.returncode, done.stdout, done.stderr
            assert said == (RUNNING, "", "receive: another receive.py is at work in this folder\n")
        second.send(node)
        wait_until(lambda: watching.said.count("is merged") == 2)
        watching.signal(signal.SIGTERM)
        assert watching.end() == FINE
        assert watching.log == ""
        assert [line.split()[0] for line in watching.said.splitlines()] == [first.name, second.name]
    assert_has(node, first, second)


def test_whoever_watches_says_only_once_what_is_waited_for(node: Path, tmp_path: Path) -> None:
    first, second = batch(1, DOG), batch(2, CAT)
    first.send_volumes(node)
    with Process(tmp_path / "said", command(node, "--watch", "1")) as watching:
        wait_until(lambda: watching.said.count("waits") == 1)
        second.send(node)
        wait_until((node / f"received/{second.name}.json").exists)
        watching.signal(signal.SIGINT)
        assert watching.end() == FINE
        assert watching.said.count("waits") == 1


def test_a_terminal_is_shown_how_far_it_is(node: Path) -> None:
    sent = batch(1, {"en/big.jpg": bytes(3 * 2**20)})
    sent.send(node)
    ours, its = pty.openpty()
    done = subprocess.Popen(command(node), stdout=its, stderr=its, env=clean_environment())
    os.close(its)
    said = b""
    while chunk := read_terminal(ours):
        said += chunk
    os.close(ours)
    assert done.wait(60) == FINE
    assert re.search(rb"\r\x1b\[K%s is \w+: \d+ %%" % sent.name.encode(), said), said
    assert (
        said.decode().rstrip().rpartition("\x1b[K")[2].startswith(f"{sent.name} is merged: 1 files")
    )


def read_terminal(file: int) -> bytes:
    try:
        return os.read(file, 4096)
    except OSError:  # that is how a terminal ends
        return b""


def test_the_script_of_the_shell_passes_everything_on(node: Path, tmp_path: Path) -> None:
    sent = batch(1, DOG)
    sent.send(node)
    link = tmp_path / "receive"
    link.symlink_to(SCRIPT.with_suffix(".sh"))
    words = [str(link), "--reserve-mb", "0", "-q"]
    done = subprocess.run(words, cwd=node, capture_output=True, text=True, env=clean_environment())
    assert (done.returncode, done.stdout, done.stderr) == (FINE, "", "")
    assert_has(node, sent)
    assert subprocess.run([*words, "--what"], cwd=node, capture_output=True).returncode == USAGE


def test_the_script_of_the_shell_wants_a_python(node: Path, tmp_path: Path) -> None:
    (tmp_path / "python3").write_text("#!/bin/sh\nexit 1\n")
    (tmp_path / "python3").chmod(0o755)
    path = f"{tmp_path}:{os.environ['PATH']}"
    words = [str(SCRIPT.with_suffix(".sh")), str(node)]
    done = subprocess.run(words, capture_output=True, text=True, env=clean_environment(PATH=path))
    said = done.returncode, done.stdout, done.stderr
    assert said == (CANNOT, "", "receive: needs Python 3.8 or newer as python3\n")


NEWER = {
    *("removeprefix", "removesuffix", "file_digest", "is_relative_to", "with_stem"),
    *("hardlink_to", "pairwise", "batched", "cache", "UTC", "StrEnum", "aclosing", "chdir"),
    *("ExceptionGroup", "add_note", "Self", "TypeAlias", "ParamSpec", "Annotated"),
    *("assert_never", "override", "bit_count", "lcm", "randbytes", "to_thread", "tomllib"),
    *("zoneinfo", "graphlib", "waitstatus_to_exitcode", "kw_only", "slots", "root_dir"),
    "process_cpu_count",
}
"""Names of the standard library and of its arguments that came after Python 3.8."""


def names_in(source: str) -> set[str]:
    """All that it calls by name; it does not parse where the grammar is newer than Python 3.8."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(source, feature_version=(3, 8))):
        if isinstance(node, ast.Attribute):
            found.add(node.attr)
        elif isinstance(node, ast.Name):
            found.add(node.id)
        elif isinstance(node, ast.keyword):
            found.add(node.arg or "")
        elif isinstance(node, ast.alias):
            found.update(node.name.split("."))
    return found


def test_it_is_written_for_an_old_python() -> None:
    assert names_in(SCRIPT.read_text(encoding="utf-8")) & NEWER == set()


NEW_PYTHON = ["'a'.removeprefix('a')", "from itertools import pairwise", "match 1:\n case 1: pass"]


@pytest.mark.parametrize("source", NEW_PYTHON)
def test_what_is_too_new_would_be_noticed(source: str) -> None:
    try:
        assert names_in(source) & NEWER
    except SyntaxError:
        assert source.startswith("match")


def pythons() -> list[str]:
    """Every one that is found here and not too old; at least that of the tests."""
    built = map(str, Path.home().glob(".pyenv/versions/*/bin"))
    folders = [*built, *os.environ["PATH"].split(os.pathsep)]
    found = {minor: which(minor, folders) for minor in range(8, 20)}
    return [sys.executable, *(path for path in found.values() if path)]


def which(minor: int, folders: list[str]) -> str | None:
    paths = (shutil.which(f"python3.{minor}", path=folder) for folder in folders)
    return next(filter(works, filter(None, paths)), None)


def works(python: str) -> bool:
    """Some are only there to say that they are not."""
    return subprocess.run([python, "-c", ""], capture_output=True, timeout=60).returncode == 0


@pytest.mark.parametrize("python", pythons(), ids=lambda path: Path(path).name)
def test_every_python_that_is_found_runs_it(node: Path, python: str) -> None:
    old, new = batch(9, OLD), batch(10, {**NEW, **CAT, f"en/{'ü' * 80}/0.jpg": b"long"})
    for each in (old, new):
        each.send(node)
    (batch(11, DOG).send(node) / "manifest.json").write_bytes(b"{}")
    (node / "staging/old/inner").mkdir(parents=True)
    words = [python, "-W", "error", "-I", *command(node)[1:]]
    locale = clean_environment(LC_ALL="C", PYTHONCOERCECLOCALE="0", PYTHONUTF8="0")
    done = subprocess.run(words, capture_output=True, text=True, timeout=60, env=locale)
    assert (done.returncode, done.stderr.count("\n")) == (QUARANTINED, 1), done.stderr
    assert_has(node, old, new)
    assert list((node / "raw").iterdir()) == list((node / "staging").iterdir()) == []


# --- the disk ----------------------------------------------------------------------------------


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[SmallDisk]:
    with small_disk(tmp_path / "node", "8m") as disk:
        yield disk


def test_without_room_nothing_is_begun(disk: SmallDisk, capfd: pytest.CaptureFixture[str]) -> None:
    sent = batch(1, {"en/big.jpg": bytes(3_000_000)})
    sent.send(disk.folder)
    with receiving(disk.folder, capfd) as run:
        assert run("--reserve-mb", "1").code == FINE
        sent = batch(2, {"en/2.jpg": bytes(2_500_000)})
        sent.send(disk.folder)
        before = tree(disk.folder)
        for words in (["--reserve-mb", "1"], ["--dry-run", "--reserve-mb", "1"]):
            said = run(*words)
            assert said.code == CANNOT and "merged" not in said.out
            assert re.fullmatch(
                rf"receive: {sent.name} needs 2.5 MB on this disk and 2.\d MB are left, of which "
                r"1.0 MB are kept free: make room\n",
                said.err,
            )
        assert tree(disk.folder) == before
        assert run().code == FINE
    assert len(merged(disk.folder)) == 2


def test_whoever_watches_waits_for_room(disk: SmallDisk, tmp_path: Path) -> None:
    sent = batch(1, {"en/big.jpg": bytes(5_000_000)})
    sent.send(disk.folder)
    with Process(tmp_path / "said", command(disk.folder, "--watch", "1")) as watching:
        watching.wait_for("5.0 MB on this disk")
        disk.remount("size=20m")
        wait_until((disk.folder / f"received/{sent.name}.json").exists)
        watching.signal(signal.SIGTERM)
        assert watching.end() == FINE
        assert watching.log.count("make room") == 1
    assert_has(disk.folder, sent)


def test_a_disk_that_becomes_full_is_not_the_fault_of_the_batch(
    disk: SmallDisk, capfd: pytest.CaptureFixture[str]
) -> None:
    """It has bytes left, but no place for another file."""
    sent = batch(1, {f"en/{number}.jpg": b"x" for number in range(40)})
    sent.send(disk.folder)
    used = len(list(disk.folder.rglob("*")))
    with receiving(disk.folder, capfd) as run:
        disk.remount(f"nr_inodes={used + 30}")
        said = run()
        assert (said.code, said.out) == (CANNOT, "")
        assert "No space left on device: see to it" in said.err
        assert len(list((disk.folder / "raw" / sent.name).iterdir())) == len(sent.volumes) + 1
        assert list((disk.folder / "staging").iterdir()) == [], "it gives the room back"
        assert not (disk.folder / "received").exists()
        disk.remount("nr_inodes=1000")
        assert run().code == FINE
    assert_has(disk.folder, sent)
    assert_all_taken(disk.folder)


def test_a_disk_that_is_read_only_is_told(
    disk: SmallDisk, capfd: pytest.CaptureFixture[str]
) -> None:
    batch(1, DOG).send(disk.folder)
    disk.remount("ro")
    with receiving(disk.folder, capfd) as run:
        said = run()
        assert (said.code, said.out) == (CANNOT, "")
        assert said.err.startswith("receive: .receive.lock: Read-only file system: ")
        assert run("--dry-run").code == run("--status").code == FINE


def test_no_receipt_is_written_for_what_the_disk_does_not_keep(node: Path, tmp_path: Path) -> None:
    sent = batch(1, DOG)
    sent.send(node)
    words = [*injected("fsync:error=EIO:when=3"), *command(node)]
    with Process(tmp_path / "said", words) as process:
        assert process.end() == CANNOT
        assert process.sentence == (
            f"receive: {sent.name} is left for now: Input/output error: see to it, "
            "then run this again"
        )
    assert_nothing_merged(node)
    assert not (node / "received").exists()
    assert subprocess.run(command(node), capture_output=True, timeout=60).returncode == FINE
    assert_has(node, sent)


def test_a_disk_without_hard_links_will_do(node: Path, tmp_path: Path) -> None:
    old, new = batch(9, OLD), batch(10, NEW)
    for each in (old, new):
        each.send(node)
    with Process(tmp_path / "said", [*injected("linkat:error=EPERM"), *command(node)]) as process:
        assert process.end() == FINE, process.log
    assert_has(node, old, new)
    assert set_aside(node) == {f"{old.name}/en/dog/image/0.jpg": b"old"}
    assert_all_taken(node)


# --- the units ---------------------------------------------------------------------------------

SERVICE, TIMER = ROOT / "scripts/sheaf-receive.service", ROOT / "scripts/sheaf-receive.timer"


@pytest.fixture
def units(tmp_path: Path) -> Path:
    """For the script of these tests: systemd looks whether it is there."""
    shutil.copy(TIMER, tmp_path)
    text = SERVICE.read_text(encoding="utf-8").replace("/usr/bin/python3", sys.executable)
    (tmp_path / SERVICE.name).write_text(text)
    return tmp_path


def test_systemd_has_nothing_to_say_against_the_units(units: Path) -> None:
    for name in (SERVICE.name, TIMER.name):
        done = analyze("verify", "--man=no", "--recursive-errors=no", units / name)
        assert (done.returncode, done.stdout + done.stderr) == (0, "")


def test_the_service_can_do_little_else(units: Path) -> None:
    words = ("--no-pager", "--offline=true", f"--threshold={EXPOSURE}", units / SERVICE.name)
    done = analyze("security", *words)
    assert done.returncode == 0, done.stdout


def test_the_service_runs_what_there_is(node: Path) -> None:
    text = SERVICE.read_text(encoding="utf-8")
    (words,) = re.findall(r"^ExecStart=(.*)$", text, re.MULTILINE)
    flag, script, folder = words.split()[1:]
    assert (flag, Path(script).name) == ("-I", SCRIPT.name)
    assert re.findall(r"^ReadWritePaths=(.*)$", text, re.MULTILINE) == [folder]
    sent = batch(1, DOG)
    sent.send(node)
    done = subprocess.run(
        [sys.executable, flag, SCRIPT, node, "--reserve-mb", "0"], capture_output=True, timeout=60
    )
    assert done.returncode == FINE
    assert_has(node, sent)
