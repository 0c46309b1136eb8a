"""Volumes: the same bytes every time, one tar archive together, and no file that has changed."""

from __future__ import annotations

import hashlib
import io
import tarfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tools.shipping.volume import Member, MemberLost, Volume, cut, header, room

NAMES = ("en/dog/image/0.jpg", "fr/é" + "t" * 90 + "é/audio/1.ogg", "[@r@IsA@,@c@en@a@]/0.gif")


def stored(folder: Path, path: str, content: bytes) -> Member:
    (folder / path).parent.mkdir(parents=True, exist_ok=True)
    (folder / path).write_bytes(content)
    return Member(path, len(content), hashlib.sha256(content).hexdigest())


def read(volume: Volume, folder: Path, size: int = 1000) -> bytes:
    return b"".join(volume.chunks(folder, size))


def members(folder: Path) -> list[Member]:
    contents = (b"", b"x" * 512, b"y" * 70_001)
    return [stored(folder, name, text) for name, text in zip(NAMES, contents, strict=True)]


def test_together_they_are_one_archive(tmp_path: Path) -> None:
    given_ = members(tmp_path)
    volumes = cut(given_, most=3000)
    assert [len(each.members) for each in volumes] == [2, 1]
    archive = b"".join(read(each, tmp_path) for each in volumes)
    with tarfile.open(fileobj=io.BytesIO(archive)) as tar:
        assert [each.name for each in tar] == list(NAMES)
        for member in given_:
            file = tar.extractfile(member.path)
            assert file and hashlib.sha256(file.read()).hexdigest() == member.sha256
        assert {(each.mode, each.mtime, each.uid, each.uname) for each in tar} == {
            (0o644, 0, 0, "")
        }


def test_a_volume_is_as_large_as_it_says_and_the_same_again(tmp_path: Path) -> None:
    for volume in cut(members(tmp_path), most=3000):
        first = read(volume, tmp_path)
        assert len(first) == volume.size
        (tmp_path / NAMES[0]).touch()
        assert read(volume, tmp_path, 77) == first


def test_chunks_are_of_the_size_that_was_asked_for(tmp_path: Path) -> None:
    (volume,) = cut(members(tmp_path), most=10**9)
    *most, last = volume.chunks(tmp_path, 999)
    assert {len(each) for each in most} == {999} and 0 < len(last) <= 999


def test_a_file_larger_than_a_volume_has_one_to_itself() -> None:
    sizes = (10, 5000, 10, 10)
    volumes = cut([Member(f"{at}", size, "") for at, size in enumerate(sizes)], most=2500)
    assert [[each.path for each in volume.members] for volume in volumes] == [
        ["0"], ["1"], ["2", "3"],
    ]  # fmt: skip
    assert [each.name for each in volumes] == ["00001.tar", "00002.tar", "00003.tar"]
    assert [each.is_last for each in volumes] == [False, False, True]


@given(st.lists(st.integers(0, 4000), min_size=1), st.integers(1, 20_000))
def test_every_file_is_in_one_volume_and_none_is_too_large(sizes: list[int], most: int) -> None:
    given_ = [Member(f"{at}", size, "") for at, size in enumerate(sizes)]
    volumes = cut(given_, most)
    assert [each for volume in volumes for each in volume.members] == given_
    for volume in volumes:
        assert len(volume.members) == 1 or sum(map(room, volume.members)) <= most


@pytest.mark.parametrize("change", ["flipped", "shorter", "longer", "gone", "a link", "a folder"])
def test_a_file_that_has_changed_is_named(tmp_path: Path, change: str) -> None:
    member = stored(tmp_path, "en/dog/0.jpg", b"abc" * 1000)
    other = stored(tmp_path, "en/dog/1.jpg", b"abc" * 1000)
    path = tmp_path / member.path
    content = path.read_bytes()
    path.unlink()
    match change:
        case "flipped":
            path.write_bytes(b"b" + content[1:])
        case "shorter":
            path.write_bytes(content[:-1])
        case "longer":
            path.write_bytes(content + b"a")
        case "a link":
            path.symlink_to(tmp_path / other.path)
        case "a folder":
            path.mkdir()
    (volume,) = cut([other, member], most=10**9)
    with pytest.raises(MemberLost) as caught:
        read(volume, tmp_path)
    assert caught.value.member == member


@pytest.mark.parametrize(
    "path", ["a", "en/büffel/image/0.jpg", "x" * 100, "x" * 101, "ü" * 50, "ü" * 51, "a\udcff"]
)
@pytest.mark.parametrize("size", [0, 1, 511, 512, 8**11 - 1, 8**11])
def test_a_header_is_what_tarfile_makes(path: str, size: int) -> None:
    info = tarfile.TarInfo(path)
    info.size, info.mode = size, 0o644
    expected = info.tobuf(tarfile.GNU_FORMAT, "utf-8", "surrogateescape")
    assert header(Member(path, size, "")) == expected
