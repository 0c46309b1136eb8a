"""Records are found again, also those of other programs, and what is hostile or damaged is told."""

from __future__ import annotations

import gzip
import os
import resource
import zlib
from io import BytesIO
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from warcio.statusandheaders import StatusAndHeaders
from warcio.warcwriter import WARCWriter

from tests.archive.scene import HTML, TIME, answer, archive_in
from tools.archive import reader
from tools.archive.reader import Damaged, read, records
from tools.archive.record import Earlier, Place, pack, payload_digest
from tools.errors import GiveUp


def kept_as(tmp_path: Path, payload: bytes, *headers: tuple[str, str]) -> reader.Kept:
    (place, _) = archive_in(tmp_path).append(
        "example.org", pack(answer(payload=payload, headers=[HTML, *headers]))
    )
    return read(tmp_path, place)


def foreign(path: Path, *answers: tuple[str, list[tuple[str, str]], bytes], packed: bool) -> Path:
    """As warcio writes it."""
    with path.open("wb") as file:
        writer = WARCWriter(file, gzip=packed)
        for address, headers, body in answers:
            http = StatusAndHeaders("200 OK", headers, protocol="HTTP/1.0")
            writer.write_record(
                writer.create_warc_record(
                    address, "response", payload=BytesIO(body), length=len(body), http_headers=http
                )
            )
    return path


def test_a_record_says_what_came(tmp_path: Path) -> None:
    kept = kept_as(tmp_path, b"hello", ("ETag", '"x"'))
    assert (kept.kind, kept.address, kept.status) == ("response", "http://example.org/", 200)
    assert (kept.time, kept.mime, kept.header("etag")) == (TIME, "text/html", '"x"')
    assert (kept.payload, kept.digest) == (b"hello", payload_digest(b"hello"))
    assert (kept.is_cut, kept.refers_to) == (False, None)


@pytest.mark.parametrize(
    ("coding", "sent"),
    [
        ("gzip", gzip.compress(b"hello", mtime=0)),
        ("deflate", zlib.compress(b"hello")),
        ("deflate", zlib.compress(b"hello")[2:-4]),
        ("identity", b"hello"),
        ("", b"hello"),
        ("unknown", b"hello"),
    ],
)
def test_a_body_is_unpacked_when_it_is_wanted(coding: str, sent: bytes, tmp_path: Path) -> None:
    kept = kept_as(tmp_path, sent, ("Content-Encoding", coding))
    assert kept.payload == sent
    assert kept.body() == b"hello"


def test_a_body_that_cannot_be_unpacked_is_told(tmp_path: Path) -> None:
    kept = kept_as(tmp_path, gzip.compress(os.urandom(500))[:200], ("Content-Encoding", "gzip"))
    with pytest.raises(Damaged, match="cannot be unpacked"):
        kept.body()


def test_a_body_has_a_limit(tmp_path: Path) -> None:
    kept = kept_as(tmp_path, gzip.compress(bytes(10**7)), ("Content-Encoding", "gzip"))
    with pytest.raises(GiveUp, match="larger than 1,000 bytes"):
        kept.body(1000)


def test_a_revisit_says_what_it_refers_to(tmp_path: Path) -> None:
    earlier = Earlier("http://example.org/old", TIME, payload_digest(b"same"))
    packed = pack(answer(payload=b"same"), earlier=earlier)
    (place, _) = archive_in(tmp_path).append("example.org", packed)
    kept = read(tmp_path, place)
    assert (kept.kind, kept.mime, kept.payload) == ("revisit", "warc/revisit", b"")
    assert kept.digest == earlier.digest
    assert kept.refers_to == ("http://example.org/old", "2026-05-04T03:02:01.654321Z")


@pytest.mark.parametrize("packed", [True, False])
def test_files_of_other_programs_are_read(packed: bool, tmp_path: Path) -> None:
    path = foreign(
        tmp_path / "other.warc",
        ("http://example.org/a", [HTML], b"one"),
        ("http://example.org/b", [("Transfer-Encoding", "chunked")], b"3\r\ntwo\r\n0\r\n\r\n"),
        ("http://example.org/c", [("Transfer-Encoding", "chunked")], b"not chunked"),
        packed=packed,
    )
    kept = [*records(path)]
    assert [each.body() for each in kept] == [b"one", b"two", b"not chunked"]
    content = path.read_bytes()
    for each in kept:
        part = content[each.place.offset : each.place.offset + each.place.length]
        assert (gzip.decompress(part) if packed else part).startswith(b"WARC/1.0\r\n")


def test_a_payload_that_is_too_large_is_left_out_and_the_next_is_read(tmp_path: Path) -> None:
    large = ("http://example.org/large", [HTML], bytes(3 * 10**6))
    small = ("http://example.org/small", [HTML], b"small")
    path = foreign(tmp_path / "other.warc.gz", large, small, packed=True)
    first, second = records(path, most_bytes=10**6)
    assert (first.is_cut, first.payload) == (True, b"")
    assert (second.is_cut, second.payload) == (False, b"small")


def test_headers_without_an_end_cost_bounded_memory(tmp_path: Path) -> None:
    path = tmp_path / "bomb.warc.gz"
    packer = zlib.compressobj(9, zlib.DEFLATED, 31)
    with path.open("wb") as file:
        file.write(packer.compress(b"WARC/1.1\r\nX: "))
        for _ in range(400):
            file.write(packer.compress(b"x" * 10**6))
        file.write(packer.flush())
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(Damaged, match="bytes of headers"):
        next(records(path))
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 100_000  # KB


def test_a_file_that_ends_too_early_is_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    body = os.urandom(50_000)
    path = foreign(tmp_path / "other.warc.gz", ("http://a.example/", [HTML], body), packed=True)
    os.truncate(path, 30_000)
    with pytest.raises(Damaged, match="cannot be read at byte"):
        list(records(path))
    assert capsys.readouterr() == ("", "")


@given(st.binary(max_size=300))
def test_rubbish_is_told(content: bytes) -> None:
    try:
        for _ in reader._records(BytesIO(content), Path("x"), Place("x", 0, 0), 1000):
            pass
    except Damaged:
        pass


@given(st.integers(0, 10**6), st.integers(0, 255))
def test_a_record_with_a_wrong_byte_is_told_or_read(where: int, value: int) -> None:
    content = bytearray(pack(answer(payload=b"hello" * 20)).content)
    content[where % len(content)] = value
    try:
        for _ in reader._records(BytesIO(content), Path("x"), Place("x", 0, 0), 1000):
            pass
    except Damaged:
        pass


def test_a_record_that_is_not_there_is_told(tmp_path: Path) -> None:
    (place, _) = archive_in(tmp_path).append("example.org", pack(answer()))
    for wrong in (
        place._replace(file="bf/none"),
        place._replace(offset=10**6),
        place._replace(offset=place.offset + 1),
        place._replace(length=place.length - 30),
    ):
        with pytest.raises(Damaged, match="cannot be read at byte"):
            read(tmp_path, wrong)
