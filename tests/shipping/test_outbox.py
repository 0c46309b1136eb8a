"""Batches on this disk: what is finished becomes one, and a crash at any step loses nothing."""

from __future__ import annotations

import errno
import hashlib
import json
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import pytest

from tests.support.store_contract import image
from tools.add import Attachment
from tools.base.files import write_whole
from tools.errors import StopHarvest, Unavailable
from tools.media.ledger import Ledger
from tools.media.ledger_lines import BOOKS, CREDITS, FILES, SEARCHES
from tools.shipping import batch as batch_module
from tools.shipping import outbox as outbox_module
from tools.shipping.batch import Batch, append, lines
from tools.shipping.outbox import FOLDER, Outbox
from tools.shipping.volume import MemberLost

HARVEST = "0123456789abcdef"


@pytest.fixture
def media(tmp_path: Path) -> Path:
    return tmp_path / "m"


@pytest.fixture
def ledger(media: Path) -> Iterator[Ledger]:
    with closing(Ledger(media)) as ledger:
        assert ledger.claim(HARVEST)
        yield ledger


@pytest.fixture
def outbox(media: Path) -> Outbox:
    return Outbox(media, 3000)


def harvested(media: Path, ledger: Ledger, owner: str, *contents: bytes) -> list[str]:
    """Files with their lines in the books, as the extend stage leaves them."""
    files = []
    for number, content in enumerate(contents):
        path = f"en/{owner}/image/{number}.png"
        (media / path).parent.mkdir(parents=True, exist_ok=True)
        (media / path).write_bytes(content)
        sha256 = hashlib.sha256(content).hexdigest()
        files.append(image(path)._replace(bytes=len(content), sha256=sha256))
    uri = f"/c/en/{owner}"
    ledger.add([Attachment(uri, files, {"owner": uri, "refused": []})])
    return [each.path for each in files]


def paths(batch: Batch) -> list[str]:
    return [member.path for volume in batch.volumes for member in volume.members]


def files_in(folder: Path) -> set[str]:
    return {str(each.relative_to(folder)) for each in folder.rglob("*") if each.is_file()}


def only(outbox: Outbox) -> Batch:
    (name,) = outbox.names()
    return outbox.open(name)


def test_what_is_finished_becomes_a_batch(media: Path, ledger: Ledger, outbox: Outbox) -> None:
    dog = harvested(media, ledger, "dog", b"a" * 1000, b"b" * 2000)
    cat = harvested(media, ledger, "cat", b"c")
    (media / "en/cow/image").mkdir(parents=True)
    (media / "en/cow/image/0.part").write_bytes(b"still on its way")
    assert ledger.bytes == 3001
    outbox.close(ledger)
    batch = only(outbox)
    assert paths(batch) == [*dog, *cat, *BOOKS]
    assert len(batch.volumes) > 1 and batch.volumes[-1].is_last
    assert files_in(batch.content) == {*dog, *cat, *BOOKS}
    assert files_in(media) - files_in(media / FOLDER) >= {"HARVEST", "en/cow/image/0.part"}
    assert not (media / "en/dog").exists()  # empty folders are cleared away
    assert ledger.bytes == 0 and outbox.weight == batch.size


def test_what_comes_later_is_in_the_next_one(media: Path, ledger: Ledger, outbox: Outbox) -> None:
    harvested(media, ledger, "dog", b"a")
    outbox.close(ledger)
    cat = harvested(media, ledger, "cat", b"c")
    outbox.close(ledger)
    first, second = outbox.names()
    assert first.startswith("01234567-000001-") and second.startswith("01234567-000002-")
    assert paths(outbox.open(second)) == [*cat, *BOOKS]


def test_nothing_new_makes_no_batch(ledger: Ledger, outbox: Outbox, tmp_path: Path) -> None:
    outbox.close(ledger)
    assert outbox.names() == []
    nowhere = tmp_path / "nowhere"
    Outbox(nowhere, 1000).close(Ledger(nowhere))
    assert not nowhere.exists()


def test_the_counter_goes_on_when_batches_have_arrived(
    media: Path, ledger: Ledger, outbox: Outbox
) -> None:
    for number in range(1, 4):
        harvested(media, ledger, f"{number}", b"x")
        outbox.close(ledger)
        batch = only(outbox)
        assert f"-{number:06}-" in batch.name
        outbox.forget(batch, "hash")
    assert outbox.names() == [] and outbox.weight == 0
    assert [each["files"] for each in outbox.shipped()] == [4, 4, 4]
    assert not (media / FOLDER / batch.name).exists()


def test_a_file_that_was_written_twice_is_sent_once(
    media: Path, ledger: Ledger, outbox: Outbox
) -> None:
    harvested(media, ledger, "dog", b"old")
    dog = harvested(media, ledger, "dog", b"new one")
    outbox.close(ledger)
    batch = only(outbox)
    assert paths(batch) == [*dog, *BOOKS]
    assert batch.volumes[0].members[0].bytes == len(b"new one")


class Killed(BaseException):
    pass


def dying(monkeypatch: pytest.MonkeyPatch, where: Any, name: str, at: int) -> Callable[[], int]:
    """The `at`-th call of it is where the process dies; how many there were."""
    real, calls = getattr(where, name), 0

    def deadly(*args: Any, **options: Any) -> Any:
        nonlocal calls
        calls += 1
        if calls == at:
            raise Killed
        return real(*args, **options)

    monkeypatch.setattr(where, name, deadly)
    return lambda: calls


@pytest.mark.parametrize("call", ["replace", "mkdir", "rmdir"])
def test_killed_at_any_step_the_next_start_completes_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: str
) -> None:
    for at in range(1, 50):
        media = tmp_path / f"{at}"
        ledger, outbox = Ledger(media), Outbox(media, 3000)
        ledger.claim(HARVEST)
        listed = harvested(media, ledger, "dog", b"a" * 1000, b"b" * 2000)
        listed += harvested(media, ledger, "cat", b"c")
        with monkeypatch.context() as patch:
            calls = dying(patch, Path, call, at)
            try:
                outbox.close(ledger)
                only(outbox)
            except Killed:
                pass
            was_killed = calls() >= at
        ledger.close()
        after, again = Ledger(media), Outbox(media, 3000)
        again.complete(after)
        again.close(after)  # what was not handed over yet
        batch = only(again)
        assert sorted(paths(batch)) == sorted([*listed, *BOOKS])
        assert files_in(batch.content) == {*listed, *BOOKS}
        after.close()
        if not was_killed:
            assert at > 1
            return
    raise AssertionError("it never came to an end")


@pytest.mark.parametrize("call", ["replace", "mkdir", "open"])
def test_very_many_files_become_several_batches(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: str
) -> None:
    """Also if it is killed meanwhile, at any step."""
    monkeypatch.setattr(outbox_module, "MOST_FILES", 4)
    for at in range(1, 60):
        media = tmp_path / f"{at}"
        ledger, outbox = Ledger(media), Outbox(media, 3000)
        ledger.claim(HARVEST)
        listed: list[str] = []
        for owner in "abcdefg":
            listed += harvested(media, ledger, owner, *([b"x"] * (0 if owner == "d" else 3)))
        outbox.close(ledger)
        with monkeypatch.context() as patch:
            calls = dying(patch, Path, call, at)
            with suppress(Killed):
                outbox.divide()
            was_killed = calls() >= at
        again = Outbox(media, 3000)
        again.complete(ledger)
        batches = [again.open(name) for name in again.names()]
        assert [len(paths(each)) - len(BOOKS) for each in batches] == [6, 6, 6]
        found = [path for batch in batches for path in paths(batch) if path not in BOOKS]
        assert sorted(found) == sorted(listed)
        assert (
            sum((each.content / CREDITS).read_text().count("path,owner") for each in batches) == 3
        )
        searches = [(each.content / SEARCHES).read_text().splitlines() for each in batches]
        assert sum(map(len, searches)) == 7
        if not was_killed:
            return
    raise AssertionError("it never came to an end")


def test_a_harvest_that_went_on_over_an_unfinished_closing_loses_no_line(
    media: Path, ledger: Ledger, outbox: Outbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As it does when the node is taken out of the settings after a crash."""
    dog = harvested(media, ledger, "dog", b"a")
    with monkeypatch.context() as patch, suppress(Killed):
        dying(patch, Path, "replace", 2)  # the first book is handed over
        outbox.close(ledger)
    cat = harvested(media, ledger, "cat", b"c")
    outbox.complete(ledger)
    batch = only(outbox)
    assert paths(batch) == [*dog, *cat, *BOOKS]
    searches = (batch.content / SEARCHES).read_text().splitlines()
    owners = [json.loads(line)["owner"] for line in searches]
    assert owners == ["/c/en/dog", "/c/en/cat"]


def test_two_files_lost_at_the_same_time_are_both_written_down(
    media: Path, ledger: Ledger, outbox: Outbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    harvested(media, ledger, "dog", b"a" * 2000, b"b" * 2000)
    outbox.close(ledger)
    batch = only(outbox)
    first, second, *_ = batch.volumes
    real: Any = write_whole

    def meanwhile(path: Path, text: bytes, **how: Any) -> None:
        monkeypatch.setattr(batch_module, "write_whole", real)
        batch.drop(second, MemberLost(second.members[0], "gone"))  # of another lane
        real(path, text, **how)

    monkeypatch.setattr(batch_module, "write_whole", meanwhile)
    batch.drop(first, MemberLost(first.members[0], "flipped"))
    again = only(outbox)
    assert {each["reason"] for each in again.lost} == {"gone", "flipped"}
    assert paths(again) == list(BOOKS)


def test_a_batch_that_has_arrived_is_not_sent_again_after_a_crash(
    media: Path, ledger: Ledger, outbox: Outbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    harvested(media, ledger, "dog", b"a")
    outbox.close(ledger)
    batch = only(outbox)
    with monkeypatch.context() as patch, pytest.raises(Killed):
        dying(patch, shutil, "rmtree", 1)
        outbox.forget(batch, "hash")
    again = Outbox(media, 3000)
    again.complete(ledger)
    assert again.names() == [] and len(again.shipped()) == 1


def test_what_is_proven_is_erased_also_after_a_crash_between_the_two(
    media: Path, ledger: Ledger, outbox: Outbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    harvested(media, ledger, "dog", b"a" * 2000, b"b" * 2000)
    outbox.close(ledger)
    batch = only(outbox)
    first, *others = batch.volumes
    batch.note_sent(first, "f" * 64, is_proven=False)
    assert first.members[0].path in files_in(batch.content)
    with monkeypatch.context() as patch:
        patch.setattr(Batch, "erase", lambda *_: None)
        batch.note_sent(first, "f" * 64, is_proven=True)
    again = only(Outbox(media, 3000))
    assert first.members[0].path not in files_in(again.content)
    assert again.open_volumes == others
    assert json.loads(batch_manifest(again, others))["volumes"][0]["sha256"] == "f" * 64


def batch_manifest(batch: Batch, others: list[Any]) -> bytes:
    for volume in others:
        batch.note_sent(volume, "e" * 64, is_proven=False)
    return batch.manifest()


def test_a_line_torn_by_a_power_cut_proves_nothing(
    media: Path, ledger: Ledger, outbox: Outbox
) -> None:
    harvested(media, ledger, "dog", b"a")
    outbox.close(ledger)
    batch = only(outbox)
    (batch.folder / "sent.jsonl").write_bytes(b'{"volume": "00001.tar", "sha256": "ff", "prov')
    again = only(outbox)
    assert not again.proven and not again.sent and again.open_volumes == again.volumes
    assert files_in(again.content) == set(paths(again))


def test_one_shipping_at_a_time(media: Path, outbox: Outbox) -> None:
    media.mkdir()
    with outbox.held(0), pytest.raises(Unavailable, match="shipped already"), outbox.held(0):
        pass
    with outbox.held(0):
        pass


def test_a_folder_that_cannot_be_written_is_named(
    media: Path, ledger: Ledger, outbox: Outbox
) -> None:
    harvested(media, ledger, "dog", b"a")
    (media / FOLDER).write_text("a file where a folder should be")
    with pytest.raises(StopHarvest, match=r"\.outbox cannot be used"):
        outbox.close(ledger)
    assert (media / FILES).exists()


def test_a_foreign_folder_is_no_batch(media: Path, outbox: Outbox) -> None:
    for name in ("tools", "0123-1-2", "01234567-000001-ABCD", "01234567-000001-abcd.damaged", ".."):
        (media / FOLDER / name).mkdir(parents=True, exist_ok=True)
    assert outbox.names() == []


def test_closing_takes_milliseconds(
    media: Path, ledger: Ledger, outbox: Outbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not a clock: it moves the books and never the files, however many there are."""
    harvested(media, ledger, "dog", *(b"%d" % number for number in range(500)))
    moved: list[Path] = []
    real = Path.replace

    def counted(self: Path, target: Path) -> Path:
        moved.append(self)
        return real(self, target)

    monkeypatch.setattr(Path, "replace", counted)
    outbox.close(ledger)
    assert len(moved) == len(BOOKS) + 1
    assert outbox_module.FOLDER in str(moved[-1])


def test_a_line_that_the_disk_refuses_is_not_there_for_the_next_reader(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(_file: int) -> None:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    file = tmp_path / "sent.jsonl"
    append(file, b'{"volume": 1}\n')
    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", refuse)
        with pytest.raises(OSError, match="Input/output"):
            append(file, b'{"volume": 2}\n')
    assert list(lines(file)) == [{"volume": 1}]
