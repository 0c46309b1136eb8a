"""An assertions file as chunks: every byte once, and what is wrong with a file is said."""

from __future__ import annotations

import gzip
import subprocess
import sys
import zlib
from collections.abc import Callable, Iterable
from itertools import accumulate
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.command import ROOT, clean_environment
from tools.conceptnet.dump import lines as lines_of
from tools.conceptnet.dump.lines import Chunk, Lines, Position
from tools.errors import UsageError

Pack = Callable[[bytes], bytes]

PACKED: dict[str, Pack] = {
    "plain": lambda text: text,
    "gz": lambda text: gzip.compress(text, 1),
    "zst": zstandard.ZstdCompressor(write_checksum=True).compress,
}
TEXT = b"".join(b"%d %d\n" % (number, Random(number).getrandbits(90)) for number in range(3000))

each_way = pytest.mark.parametrize("way", PACKED)


@pytest.fixture(autouse=True)
def small_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    """So that files of a few kilobytes have many chunks."""
    monkeypatch.setattr(lines_of, "CHUNK", 1000)
    monkeypatch.setattr(lines_of, "GZIP_PIECE", 300)
    monkeypatch.setattr(lines_of, "ZSTD_PIECE", 100)


def file_of(folder: Path, content: bytes, name: str = "file") -> Path:
    path = folder / name
    path.write_bytes(content)
    return path


def read(path: Path, after: Position = lines_of.BEGINNING) -> list[Chunk]:
    return list(Lines(path).chunks(after))


def joined(chunks: Iterable[Chunk]) -> bytes:
    return b"".join(chunk.text for chunk in chunks)


def read_until_it_fails(path: Path) -> tuple[bytes, str]:
    """What came before the error, and its sentence."""
    found = b""
    with pytest.raises(UsageError) as caught:
        for chunk in Lines(path).chunks():
            found += chunk.text
    return found, str(caught.value)


def count(text: bytes) -> int:
    return text.count(b"\n")


def whole_lines(text: bytes) -> bytes:
    return text[: text.rfind(b"\n") + 1]


# --- good files ------------------------------------------------------------------------------


@each_way
def test_every_byte_comes_once_and_in_chunks_of_whole_lines(tmp_path: Path, way: str) -> None:
    chunks = read(file_of(tmp_path, PACKED[way](TEXT)))
    assert joined(chunks) == TEXT
    assert len(chunks) > 20 or way == "zst"  # which unpacks 128 kB at a time
    assert all(chunk.text.endswith(b"\n") for chunk in chunks)
    assert chunks[-1].end == Position(len(TEXT), 3000)


@each_way
@pytest.mark.parametrize("name", ["assertions.csv", "a.csv.gz", "a.csv.zst", "no-name"])
def test_how_it_is_packed_is_told_by_content_not_by_name(
    tmp_path: Path, way: str, name: str
) -> None:
    assert joined(read(file_of(tmp_path, PACKED[way](TEXT), name))) == TEXT


@pytest.mark.parametrize("way", ["gz", "zst"])
def test_several_members_or_frames_are_one_file(tmp_path: Path, way: str) -> None:
    pieces = [TEXT[:10], b"", TEXT[10:5000], b"", TEXT[5000:]]
    assert joined(read(file_of(tmp_path, b"".join(map(PACKED[way], pieces))))) == TEXT


@pytest.mark.parametrize("size", [1, 512, 5000])
def test_zeros_behind_gzip_members_are_no_content(tmp_path: Path, size: int) -> None:
    packed = PACKED["gz"](TEXT)
    assert joined(read(file_of(tmp_path, packed + bytes(size)))) == TEXT
    assert joined(read(file_of(tmp_path, packed + bytes(size) + packed))) == TEXT * 2


def test_remarks_between_zstd_frames_are_no_content(tmp_path: Path) -> None:
    """As pzstd writes them, even at the beginning."""
    remark = b"\x50\x2a\x4d\x18" + (4).to_bytes(4, "little") + b"size"
    packed = remark + PACKED["zst"](TEXT[:7000]) + remark + PACKED["zst"](TEXT[7000:])
    assert joined(read(file_of(tmp_path, packed))) == TEXT


@each_way
def test_the_last_line_needs_no_end(tmp_path: Path, way: str) -> None:
    chunks = read(file_of(tmp_path, PACKED[way](TEXT + b"the last")))
    assert joined(chunks) == TEXT + b"the last"
    assert chunks[-1].end == Position(len(TEXT) + 8, 3001)


def test_windows_line_ends_are_never_cut_in_two(tmp_path: Path) -> None:
    text = TEXT.replace(b"\n", b"\r\n")
    chunks = read(file_of(tmp_path, text))
    assert joined(chunks) == text
    assert all(chunk.text.endswith(b"\r\n") for chunk in chunks)


@each_way
@pytest.mark.parametrize("text", [b"", b"\n", b"\n\n\n", b"x", b"\r", b"\0\n"])
def test_files_with_next_to_nothing_in_them(tmp_path: Path, way: str, text: bytes) -> None:
    chunks = read(file_of(tmp_path, PACKED[way](text)))
    assert joined(chunks) == text
    assert sum(chunk.end.lines - chunk.begin.lines for chunk in chunks) == len(text.splitlines())


@each_way
def test_read_on_from_any_line_the_rest_comes(tmp_path: Path, way: str) -> None:
    text = TEXT[:6000] + b"\n\nno end"
    path = file_of(tmp_path, PACKED[way](text))
    lengths = [len(each) for each in text.splitlines(keepends=True)]
    for number, offset in enumerate(accumulate(lengths, initial=0)):
        chunks = read(path, Position(offset, number))
        assert joined(chunks) == text[offset:]
        if chunks:
            assert chunks[0].begin == Position(offset, number)
            assert chunks[-1].end == Position(len(text), len(lengths))


@settings(max_examples=150)
@given(
    pieces=st.lists(st.text("ab\n\r\t", max_size=12).map(str.encode), max_size=12),
    size=st.integers(1, 30),
    way=st.sampled_from(sorted(PACKED)),
)
def test_wherever_chunks_end_lines_and_places_are_right(
    pieces: list[bytes], size: int, way: str
) -> None:
    text = b"".join(pieces)
    with pytest.MonkeyPatch.context() as patch, TemporaryDirectory() as folder:
        for name in ("CHUNK", "GZIP_PIECE", "ZSTD_PIECE"):
            patch.setattr(lines_of, name, size)
        packed = PACKED[way](text) if way == "plain" else b"".join(map(PACKED[way], pieces))
        chunks = read(file_of(Path(folder), packed))
        assert joined(chunks) == text
        place = lines_of.BEGINNING
        for chunk in chunks:
            assert chunk.begin == place
            lines = count(chunk.text) + (not chunk.text.endswith(b"\n"))
            place = Position(place.offset + len(chunk.text), place.lines + lines)
            assert chunk.end == place
            assert chunk.text.endswith(b"\n") or chunk is chunks[-1]
            assert joined(read(Path(folder, "file"), place)) == text[place.offset :]


def test_how_much_of_the_packed_file_is_read_is_told(tmp_path: Path) -> None:
    path = file_of(tmp_path, PACKED["gz"](TEXT))
    lines = Lines(path)
    seen = [lines.packed for _ in lines.chunks()]
    assert seen == sorted(seen)
    assert 0 < seen[0] < seen[-1] <= lines.size == path.stat().st_size


# --- files that end too early, or are damaged ------------------------------------------------


@pytest.mark.parametrize("way", ["gz", "zst"])
def test_cut_off_anywhere_it_is_truncated_and_what_came_before_is_given(
    tmp_path: Path, way: str
) -> None:
    packed = PACKED[way](TEXT[:20_000])
    packed += PACKED[way](TEXT[20_000:])
    middle = len(PACKED[way](TEXT[:20_000]))
    cuts = {4, 5, 9, 11, 20, middle - 1, middle + 1, middle + 7, len(packed) - 9, len(packed) - 1}
    cuts.update(range(30, len(packed) - 10, 1500))
    for cut in sorted(cuts - {middle}):
        found, said = read_until_it_fails(file_of(tmp_path, packed[:cut]))
        assert "is truncated" in said, (cut, said)
        number = count(found)
        assert f"after line {number:,};" in said
        assert TEXT.startswith(found) and found == whole_lines(found)
        if way == "gz":
            assert found == whole_lines(unpacked_as_far_as_possible(packed[:cut])), cut
        elif cut > middle:
            assert len(found) > 19_000


def unpacked_as_far_as_possible(packed: bytes) -> bytes:
    found = b""
    while packed:
        member = zlib.decompressobj(31)
        found += member.decompress(packed)
        packed = member.unused_data
    return found


@pytest.mark.parametrize("way", ["gz", "zst"])
def test_a_flipped_byte_is_damage(tmp_path: Path, way: str) -> None:
    packed = PACKED[way](TEXT)
    chance = Random(7)
    for _ in range(60):
        place = chance.randrange(12, len(packed))  # behind what no checksum covers
        spoilt = bytearray(packed)
        spoilt[place] ^= 1 << chance.randrange(8)
        found, said = read_until_it_fails(file_of(tmp_path, bytes(spoilt)))
        assert f"after line {count(found):,}" in said
        assert "is damaged" in said or "is truncated" in said or "is endless" in said, (place, said)


@pytest.mark.parametrize("garbage", [b"x", b"garbage", b"more " * 1000])
def test_what_follows_a_gzip_file_and_is_none_is_damage(tmp_path: Path, garbage: bytes) -> None:
    found, said = read_until_it_fails(file_of(tmp_path, PACKED["gz"](TEXT) + garbage))
    assert found == TEXT
    assert "is damaged after line 3,000 (something else follows" in said


@each_way
def test_a_line_without_end_is_refused(
    tmp_path: Path, way: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lines_of, "LONGEST_LINE", 50_000)
    path = file_of(tmp_path, PACKED[way](TEXT[:2000] + b"y" * 200_000))
    found, said = read_until_it_fails(path)
    assert found == whole_lines(TEXT[:2000])
    assert f"line {count(found) + 1:,} is endless" in said


ZEROS = """
import sys, zlib, zstandard
way = {"gz": zlib.compressobj(1, wbits=31), "zst": zstandard.ZstdCompressor().compressobj()}
pack, million = way[sys.argv[1]], bytes(1 << 20)
with open(sys.argv[2], "wb") as file:
    for _ in range(int(sys.argv[3])):
        file.write(pack.compress(million))
    file.write(pack.flush())
"""
READ = """
import resource, sys
from pathlib import Path
from tools.conceptnet.dump.lines import Lines
from tools.errors import UsageError
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
try:
    for _ in Lines(Path(sys.argv[1])).chunks():
        pass
except UsageError as error:
    print(error)
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""


@pytest.mark.parametrize("way", ["gz", "zst"])
def test_a_file_that_unpacks_to_a_gigabyte_of_nothing_takes_no_memory(
    tmp_path: Path, way: str
) -> None:
    bomb = tmp_path / "bomb"
    python(ZEROS, way, bomb, 1024)
    assert bomb.stat().st_size < 6_000_000
    said, kilobytes = python(READ, bomb).splitlines()
    assert "line 1 is endless" in said
    assert int(kilobytes) < 120_000


def python(program: str, *arguments: object) -> str:
    command = [sys.executable, "-c", program, *map(str, arguments)]
    done = subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, timeout=60, env=clean_environment()
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


# --- no file at all --------------------------------------------------------------------------


def test_what_is_not_there_or_no_file_is_said_at_once(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"cannot be read \(No such file"):
        Lines(tmp_path / "missing.csv")
    with pytest.raises(UsageError, match="is not a file"):
        Lines(tmp_path)
    with pytest.raises(UsageError, match="is not a file"):
        Lines(Path("/dev/null"))
