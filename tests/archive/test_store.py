"""The folder of files: what is appended is found, what is not committed is cut off."""

from __future__ import annotations

import gzip
import hashlib
import os
from pathlib import Path

import pytest

from tests.archive.scene import HARVEST, answer, archive_in
from tests.faults.injection import small_disk
from tools.archive.origin import Origin
from tools.archive.reader import read, records
from tools.archive.record import Place, pack
from tools.archive.recovery import Short, our_files
from tools.archive.store import Archive
from tools.errors import StateDamaged, StopHarvest


def page(number: int, size: int = 0) -> bytes:
    return b"page %d " % number + os.urandom(size)


def open_files() -> int:
    return len([*Path("/proc/self/fd").iterdir()])


def end_of(place: Place) -> int:
    return place.offset + place.length


def test_what_is_appended_is_found_at_its_place(tmp_path: Path) -> None:
    archive = archive_in(tmp_path)
    kept = {
        number: archive.append("Example.org:8080", pack(answer(payload=page(number))))
        for number in range(5)
    }
    archive.sync(durable=True)
    for number, (response, request) in kept.items():
        assert read(tmp_path, response).payload == page(number)
        assert read(tmp_path, request).kind == "request"
    (name,) = our_files(tmp_path)
    assert name.startswith("bf/example.org/example.org-")
    assert end_of(kept[4][1]) == (tmp_path / name).stat().st_size


def test_a_file_begins_with_who_made_it(tmp_path: Path) -> None:
    archive_in(tmp_path).append("example.org", pack(answer()))
    (name,) = our_files(tmp_path)
    first = next(records(tmp_path / name))
    assert first.kind == "warcinfo"
    assert b"operator: me@example.org\r\nrobots: obey\r\nisPartOf: " in first.payload
    assert HARVEST.encode() in first.payload


def test_full_files_are_closed_and_new_ones_begun(tmp_path: Path) -> None:
    archive = archive_in(tmp_path, max_file_bytes=20_000)
    places = [
        place
        for number in range(10)
        for place in archive.append("example.org", pack(answer(payload=page(number, 5000))))
    ]
    assert len({place.file for place in places}) == 3
    assert archive.full == sorted({place.file for place in places})[:2]
    first = archive.full[0]
    closed = archive.close_file(first)
    content = (tmp_path / first).read_bytes()
    assert closed == (first, len(content), hashlib.sha256(content).hexdigest())
    assert first not in archive.full
    assert [read(tmp_path, place).kind for place in places[::2]] == ["response"] * 10


def test_few_files_are_open_however_many_domains(tmp_path: Path) -> None:
    archive = archive_in(tmp_path, most_open=3)
    before = open_files()
    for turn in range(2):
        for number in range(12):
            archive.append(f"h{number}.example", pack(answer(payload=page(turn))))
            assert open_files() <= before + 3
    archive.sync(durable=True)
    archive.close()
    assert open_files() <= before  # an older test may let go of some meanwhile
    files = [*our_files(tmp_path)]
    assert len(files) == 12
    for name in files:
        assert [each.payload for each in records(tmp_path / name) if each.status] == [
            page(0),
            page(1),
        ]


def test_the_same_file_grows_after_a_restart(tmp_path: Path) -> None:
    first = archive_in(tmp_path)
    places = first.append("example.org", pack(answer()))
    again = archive_in(tmp_path, known=1)
    assert not again.cut_back({places[1].file: end_of(places[1])}).cut
    (more, _) = again.append("example.org", pack(answer()))
    assert (more.file, more.offset) == (places[1].file, end_of(places[1]))


def test_a_closed_file_does_not_grow(tmp_path: Path) -> None:
    places = archive_in(tmp_path).append("example.org", pack(answer()))
    again = archive_in(tmp_path, known=1)
    again.cut_back({places[1].file: end_of(places[1])}, closed=[places[1].file])
    assert again.append("example.org", pack(answer()))[0].file != places[1].file


def test_a_file_that_was_full_when_a_kill_came_is_still_to_close(tmp_path: Path) -> None:
    places = archive_in(tmp_path, max_file_bytes=10).append("example.org", pack(answer()))
    ends = {places[1].file: end_of(places[1])}
    again = archive_in(tmp_path, known=1, max_file_bytes=10)
    again.cut_back(ends)
    assert again.full == [places[1].file]
    again.cut_back(ends, closed=again.full)
    assert again.full == []


def test_what_the_table_does_not_know_is_cut_off(tmp_path: Path) -> None:
    archive = archive_in(tmp_path)
    (_, known) = archive.append("example.org", pack(answer()))
    archive.append("example.org", pack(answer()))
    archive.append("other.example", pack(answer()))
    path = tmp_path / known.file
    with path.open("ab") as torn:
        torn.write(b"\x1f\x8b half a rec")
    size = path.stat().st_size
    (path.parent / f"{path.name}.part").write_bytes(b"x")
    found = archive.cut_back({known.file: end_of(known)})
    assert found.cut == {known.file: size - end_of(known)}
    assert len(found.removed) == 1 and "other.example" in found.removed[0]
    assert path.stat().st_size == end_of(known)
    assert [*our_files(tmp_path)] == [known.file]
    assert not [*tmp_path.rglob("*.part")]


def test_a_file_that_lost_its_end_is_told_and_left(tmp_path: Path) -> None:
    archive = archive_in(tmp_path)
    (first, request) = archive.append("example.org", pack(answer()))
    (_, last) = archive.append("example.org", pack(answer()))
    archive.close()
    os.truncate(tmp_path / last.file, end_of(last) - 5)
    ends = {last.file: end_of(last), "bf/example.org/gone": 7}
    found = archive.cut_back(ends)
    assert found.short == [
        Short(last.file, end_of(last) - 5, end_of(last)),
        Short("bf/example.org/gone", 0, 7),
    ]
    found = archive.cut_back({last.file: end_of(request)})
    assert not found.short and (tmp_path / last.file).stat().st_size == end_of(request)
    assert read(tmp_path, first).status == 200


def test_nothing_is_removed_that_is_not_proven_ours(tmp_path: Path) -> None:
    archive = archive_in(tmp_path)
    (place, _) = archive.append("example.org", pack(answer()))
    ours = tmp_path / place.file
    foreign = ours.with_name(ours.name.replace("-00000", "-00007"))
    other = Origin("another", "").record(foreign.name, answer().time)
    foreign.write_bytes(other + pack(answer()).content)
    rubbish = ours.with_name(ours.name.replace("-00000", "-00008"))
    rubbish.write_bytes(b"no gzip at all")
    (tmp_path / "notes.warc.gz").write_bytes(b"mine")
    found = archive.cut_back({})
    assert found.removed == [place.file]
    assert sorted(found.strange) == [str(path.relative_to(tmp_path)) for path in (foreign, rubbish)]
    (new, _) = archive.append("example.org", pack(answer()))
    assert new.file.endswith("-00009.warc.gz")
    assert rubbish.read_bytes() == b"no gzip at all"


def test_what_the_table_would_not_have_is_taken_back(tmp_path: Path) -> None:
    archive = archive_in(tmp_path, max_file_bytes=3000)
    (_, kept) = archive.append("example.org", pack(answer()))
    lost = archive.append("example.org", pack(answer(payload=page(1, 9000))))
    assert archive.full
    archive.take_back(lost)
    assert not archive.full
    (again, _) = archive.append("example.org", pack(answer()))
    assert (again.file, again.offset) == (kept.file, end_of(kept))
    assert len([*records(tmp_path / kept.file)]) == 5


def test_the_archive_of_another_harvest_is_refused(tmp_path: Path) -> None:
    archive_in(tmp_path)
    with pytest.raises(StateDamaged, match="knows nothing of"):
        Archive(tmp_path, Origin("another")).claim(known=0)


def test_files_like_ours_without_a_mark_are_refused(tmp_path: Path) -> None:
    archive_in(tmp_path).append("example.org", pack(answer()))
    (tmp_path / "HARVEST").unlink()
    with pytest.raises(StateDamaged, match="knows nothing of"):
        archive_in(tmp_path)


def test_an_archive_that_is_gone_is_not_made_anew(tmp_path: Path) -> None:
    with pytest.raises(StateDamaged, match="though 3 files of the crawl should be there"):
        archive_in(tmp_path / "gone", known=3)
    assert not (tmp_path / "gone").exists()


def test_an_archive_that_is_moved_away_gets_nothing_more(tmp_path: Path) -> None:
    archive = archive_in(tmp_path / "a")
    archive.append("example.org", pack(answer()))
    (tmp_path / "a").rename(tmp_path / "b")
    for use in (
        lambda: archive.append("other.example", pack(answer())),
        lambda: archive.sync(durable=False),
    ):
        with pytest.raises(StateDamaged, match="was moved or removed"):
            use()
    assert not (tmp_path / "a").exists()


def test_a_full_disk_ends_it_with_whole_records(tmp_path: Path) -> None:
    with small_disk(tmp_path / "disk", "1m") as disk:
        archive = archive_in(disk.folder / "archive")
        count = 0
        with pytest.raises(StopHarvest, match=r"cannot be written \(No space left") as trouble:
            while True:
                archive.append("example.org", pack(answer(payload=page(count, 50_000))))
                count += 1
        assert trouble.value.exit_code == 5 and count > 5
        (name,) = our_files(disk.folder / "archive")
        kept = [*records(disk.folder / "archive" / name)]
        assert [each.kind for each in kept] == ["warcinfo", *["response", "request"] * count]
        with pytest.raises(StopHarvest):
            archive.append("example.org", pack(answer()))
        archive.close()


def test_a_link_in_place_of_a_file_is_not_followed(tmp_path: Path) -> None:
    archive = archive_in(tmp_path / "archive")
    (place, _) = archive.append("example.org", pack(answer()))
    archive.close()
    victim = tmp_path / "victim"
    victim.write_bytes(gzip.compress(b"mine"))
    (tmp_path / "archive" / place.file).unlink()
    (tmp_path / "archive" / place.file).symlink_to(victim)
    before = victim.read_bytes()
    with pytest.raises(StopHarvest):
        archive.append("example.org", pack(answer()))
    archive.cut_back({})
    assert victim.read_bytes() == before
