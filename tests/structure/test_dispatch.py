"""New documents of a source are found once, whatever happens between two steps."""

from __future__ import annotations

import hashlib
import logging
import os
from pathlib import Path

import pytest

from tests.structure.scene import DISPATCH, NAME, PARSE, Rules, Scene
from tools.errors import ComeBack, GiveUp
from tools.structure import dispatch
from tools.structure.dispatch import position_of, stretches_of
from tools.structure.raw import raw_of
from tools.structure.registry import Rule
from tools.structure.sighted import Sighted
from tools.structure.sources.folder import FolderSource

OLD = 1_700_000_000


def put(path: Path, content: bytes, moment: int = OLD) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    os.utime(path, (moment, moment))


def uri(content: bytes) -> str:
    return f"{NAME} {hashlib.sha256(content).hexdigest()}"


def hash_of(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def scene_of(tmp_path: Path, **more: object) -> Scene:
    (tmp_path / "raw").mkdir(exist_ok=True)
    source = FolderSource("folder:raw", "raw", tmp_path, 10**9)
    return Scene(tmp_path / "state", source, **more)


def test_each_file_is_a_document_with_a_note(tmp_path: Path) -> None:
    put(tmp_path / "raw/a.html", b"one")
    put(tmp_path / "raw/b.html", b"two")
    scene = scene_of(tmp_path)
    scene.round()
    assert scene.uris() == [uri(b"one"), uri(b"two")]
    tasks = scene.pools.lease(PARSE, 2)
    notes = [raw_of(task.note or "") for task in tasks]
    assert [note.source for note in notes] == ["raw/a.html", "raw/b.html"]
    assert notes[0][1:] == ("folder:raw", "a.html", None, 3, "html")
    assert scene.pools.tallied("found") == 2
    assert scene.pools.remembered()[position_of("folder:raw")] == ""


def test_a_second_round_finds_what_is_new_or_changed(tmp_path: Path) -> None:
    put(tmp_path / "raw/a.html", b"one")
    put(tmp_path / "raw/b.html", b"two")
    scene = scene_of(tmp_path)
    scene.round()
    put(tmp_path / "raw/b.html", b"2", OLD + 1)
    put(tmp_path / "raw/c.html", b"three")
    scene.round()
    assert scene.uris() == [uri(each) for each in (b"one", b"two", b"2", b"three")]
    assert scene.documents.known(["raw/b.html"], 99)["raw/b.html"].before == hash_of(b"two")


@pytest.mark.parametrize("stretch", [1, 2, 1000])
def test_killed_between_store_and_pools_nothing_is_lost_or_doubled(
    stretch: int, tmp_path: Path
) -> None:
    for number in range(5):
        put(tmp_path / f"raw/{number}.html", b"%d" % number)
    put(tmp_path / "raw/copy.html", b"4")
    scene = scene_of(tmp_path, stretch=stretch)
    calls = 0
    while scene.pools.count("to_dispatch"):
        _, done = scene.call()
        scene.store(done)
        scene.close()  # without a move
        scene = scene_of(tmp_path, stretch=stretch)
        scene.stretch()
        calls += 1
    assert scene.uris() == [uri(b"%d" % number) for number in range(5)]
    tally = scene.pools.tally()
    assert (tally["found"], tally["copies"]) == (5, 1)
    assert tally[stretches_of("folder:raw")] == calls


def test_of_two_sources_one_stretch_does_not_vouch_for_the_others(tmp_path: Path) -> None:
    """The number of a stretch that was stored and never counted is not another source's."""
    put(tmp_path / "raw/a.html", b"one")
    put(tmp_path / "more/b.html", b"two")

    both = [FolderSource(f"folder:{name}", name, tmp_path, 10**9) for name in ("raw", "more")]
    scene = Scene(tmp_path / "state", *both)
    first, second = scene.pools.lease(DISPATCH, 2)
    scene.store(scene.dispatch(first))  # and no more than that
    done = scene.dispatch(second)
    scene.store(done)
    scene.pools.advance((second, done))
    scene.pools.retry_later(first, "tested", spent=False)
    scene.round()
    assert sorted(scene.uris()) == sorted([uri(b"one"), uri(b"two")])


def test_a_change_that_was_stored_and_not_counted_still_knows_what_was_left(
    tmp_path: Path,
) -> None:
    put(tmp_path / "raw/a.html", b"X")
    put(tmp_path / "raw/b.html", b"X")
    scene = scene_of(tmp_path)
    scene.round()
    scene.finish()
    put(tmp_path / "raw/a.html", b"Y", OLD + 1)
    scene.pools.reopen_named(DISPATCH, ["folder:raw"])
    _, done = scene.call()
    assert isinstance(done.records, Sighted)
    scene.documents.sight(done.records, 0.0)  # and killed before any reopening
    scene.close()
    scene = scene_of(tmp_path)
    scene.round()
    assert hash_of(b"X") in scene.reopened
    assert scene.documents.known(["raw/a.html"], 99)["raw/a.html"].before == hash_of(b"X")


def test_a_copy_is_counted_and_logged_with_both_sources(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    put(tmp_path / "raw/a.html", b"one")
    scene = scene_of(tmp_path)
    scene.round()
    put(tmp_path / "raw/b.html", b"one")
    put(tmp_path / "raw/c.html", b"one")
    scene.round()
    assert scene.uris() == [uri(b"one")]
    assert scene.pools.tallied("copies") == 2
    assert "raw/b.html has the same bytes as raw/a.html" in caplog.text
    assert "raw/c.html has the same bytes as raw/a.html" in caplog.text
    known = scene.documents.known(["raw/b.html", "raw/c.html"], 99)
    assert [each.hash for each in known.values()] == [hash_of(b"one")] * 2
    assert not scene.reopened[1:]


def test_a_source_that_returns_to_its_bytes_is_exported_again(tmp_path: Path) -> None:
    scene = None
    for moment, content in enumerate((b"X", b"Y", b"X")):
        put(tmp_path / "raw/a.html", content, OLD + moment)
        scene = scene or scene_of(tmp_path)
        scene.round()
        assert scene.finish() == 1
    assert scene is not None
    assert scene.documents.known(["raw/a.html"], 99)["raw/a.html"][:2] == (
        hash_of(b"X"),
        hash_of(b"Y"),
    )


def test_bytes_that_nobody_has_any_more_come_back_with_another_source(tmp_path: Path) -> None:
    put(tmp_path / "raw/a.html", b"X")
    scene = scene_of(tmp_path)
    scene.round()
    scene.finish()
    put(tmp_path / "raw/a.html", b"Y", OLD + 1)
    scene.round()
    scene.finish()
    put(tmp_path / "raw/b.html", b"X")
    scene.round()
    assert scene.finish() == 1


def test_bytes_that_change_hands_within_one_stretch_are_exported_again(tmp_path: Path) -> None:
    put(tmp_path / "raw/c.html", b"X")
    scene = scene_of(tmp_path)
    scene.round()
    scene.finish()
    put(tmp_path / "raw/a.html", b"X")
    put(tmp_path / "raw/c.html", b"Y", OLD + 1)
    scene.round()
    assert scene.finish() == 2
    assert scene.pools.tallied("copies") == 0


def test_the_first_of_two_with_the_same_bytes_changes(tmp_path: Path) -> None:
    put(tmp_path / "raw/a.html", b"X")
    put(tmp_path / "raw/b.html", b"X")
    scene = scene_of(tmp_path)
    scene.round()
    assert scene.finish() == 1
    put(tmp_path / "raw/a.html", b"Y", OLD + 1)
    scene.round()
    assert scene.finish() == 2  # what a has now, and X once more: it is b's
    assert scene.documents.holders([hash_of(b"X")]) == {hash_of(b"X"): ["raw/b.html"]}
    (note,) = scene.documents.notes_of(hash_of(b"X"))
    assert raw_of(note).place == "b.html"


def test_a_class_that_is_full_holds_its_source_until_there_is_room(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    for number in range(10):
        put(tmp_path / f"raw/{number}.html", b"%d" % number)
    scene = scene_of(tmp_path, most_waiting=4)
    scene.stretch()
    assert len(scene.uris()) == 4
    for _ in range(3):
        with pytest.raises(ComeBack):
            scene.call()
    assert caplog.text.count("folder:raw waits") == 1
    done = 0
    while scene.pools.count("to_dispatch"):
        done += scene.finish()
        scene.stretch()
    assert done + scene.finish() == 10


def test_classes_come_from_the_item_the_rule_and_the_job(tmp_path: Path) -> None:
    put(tmp_path / "raw/a.html", b"one")
    for rule, job, expected in ((None, 5, 3), (0, 5, 1), (None, 2, 2), (-1, 5, 0)):
        scene = scene_of(tmp_path, rules=Rules(Rule("*", "html", priority=rule)), priority=job)
        _, done = scene.call()
        assert [group.priority for group in done.found] == [expected]
        scene.close()


def test_an_empty_file_is_counted_and_found(tmp_path: Path) -> None:
    put(tmp_path / "raw/a.html", b"")
    scene = scene_of(tmp_path)
    scene.round()
    assert scene.uris() == [uri(b"")]
    assert scene.pools.tallied("empty") == 1
    assert raw_of(scene.pools.lease(PARSE)[0].note or "").length == 0


def test_what_cannot_be_read_is_told_once_and_tried_again(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in "abc":
        put(tmp_path / f"raw/{name}.html", name.encode())
    read = FolderSource.read

    def refused(source: FolderSource, place: str) -> bytes:
        if place == "b.html":
            raise GiveUp("b.html cannot be read: Permission denied")
        return read(source, place)

    scene = scene_of(tmp_path)
    with monkeypatch.context() as patched:
        patched.setattr(FolderSource, "read", refused)
        scene.round()
        scene.round()
    assert scene.uris() == [uri(b"a"), uri(b"c")]
    assert caplog.text.count("raw/b.html is left out") == 1
    assert scene.pools.tallied("unreadable") == 0, "the second look is at the same file"
    scene.round()
    assert scene.uris() == [uri(b"a"), uri(b"c"), uri(b"b")]


def test_what_has_no_parser_is_told_and_left_until_it_has(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    put(tmp_path / "raw/a.html", b"one")
    put(tmp_path / "raw/b.css", b"two")
    rules = Rules(without=(".css",))
    scene = scene_of(tmp_path, rules=rules)
    scene.round()
    assert scene.uris() == [uri(b"one")]
    assert "*.css is left out: no parser is declared for it" in caplog.text
    rules.without = ()
    scene.round()
    assert scene.uris() == [uri(b"one"), uri(b"two")]


def test_a_stretch_ends_with_its_bytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dispatch, "STRETCH_BYTES", 10)
    for number in range(4):
        put(tmp_path / f"raw/{number}.html", b"%d" % number * 6)
    scene = scene_of(tmp_path)
    scene.stretch()
    assert len(scene.uris()) == 2
    scene.round()
    assert len(scene.uris()) == 4


def test_a_stretch_that_could_not_be_stored_is_read_again(tmp_path: Path) -> None:
    for number in range(4):
        put(tmp_path / f"raw/{number}.html", b"%d" % number)
    scene = scene_of(tmp_path, stretch=2)
    task, _ = scene.call()
    scene.pools.retry_later(task, "the store is away", spent=False)
    scene.round()
    assert scene.uris() == [uri(b"%d" % number) for number in range(4)]


def test_a_source_the_job_has_no_more_fails_alone(tmp_path: Path) -> None:
    scene = scene_of(tmp_path)
    scene.sources.clear()
    with pytest.raises(GiveUp):
        scene.call()
