"""A WARC file is a source, whoever wrote it, and whatever became of its middle."""

from __future__ import annotations

import gzip
import os
from io import BytesIO
from pathlib import Path

import pytest
from warcio.statusandheaders import StatusAndHeaders
from warcio.warcwriter import WARCWriter

from tests.structure.scene import Scene
from tools.archive.salvage import next_record
from tools.errors import GiveUp
from tools.structure.sources.source import Item
from tools.structure.sources.warc_file import WarcSource

MAX = 10**6
HTML = ("Content-Type", "text/html; charset=utf-8")


def write(path: Path, names: range, packed: bool, mode: str = "wb") -> list[int]:
    """Answers with their requests, as warcio writes them; where each answer begins."""
    with path.open(mode) as file:
        writer, begins = WARCWriter(file, gzip=packed), []
        for number in names:
            begins.append(file.tell())
            body = f"<p>page {number}</p>".encode() * 50
            add(writer, f"http://h/{number}", "response", "200 OK", body, [HTML])
            head = StatusAndHeaders("GET / HTTP/1.1", [("Host", "h")], is_http_request=True)
            asked = writer.create_warc_record(f"http://h/{number}", "request", http_headers=head)
            writer.write_record(asked)
    return begins


def add(
    writer: WARCWriter,
    address: str,
    kind: str,
    status: str,
    body: bytes,
    headers: list[tuple[str, str]],
) -> None:
    http = StatusAndHeaders(status, headers, protocol="HTTP/1.1")
    record = writer.create_warc_record(
        address, kind, payload=BytesIO(body), length=len(body), http_headers=http
    )
    writer.write_record(record)


def source_of(tmp_path: Path, max_bytes: int = MAX) -> WarcSource:
    return WarcSource("warc:x.warc", "x.warc", tmp_path, max_bytes)


def items(source: WarcSource, position: str = "") -> list[Item]:
    return [item for item, _ in source.items(position)]


@pytest.mark.parametrize("packed", [True, False])
def test_files_of_others_are_read_from_every_position(
    packed: bool, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    write(tmp_path / "x.warc", range(5), packed)
    source = source_of(tmp_path)
    found = list(source.items(""))
    assert [item.source for item, _ in found] == [f"http://h/{n}" for n in range(5)]
    assert {item.type for item, _ in found} == {"text/html"}
    for number, (item, position) in enumerate(found):
        assert item.raw == f"<p>page {number}</p>".encode() * 50 == source.read(item.place)
        assert items(source, position) == [each for each, _ in found[number + 1 :]]
    assert not caplog.records


def test_only_good_answers_with_a_body_are_documents_and_unpacked(tmp_path: Path) -> None:
    with (tmp_path / "x.warc").open("wb") as file:
        writer = WARCWriter(file, gzip=True)
        coded = [HTML, ("Content-Encoding", "gzip")]
        add(writer, "http://h/a", "response", "200 OK", gzip.compress(b"hello"), coded)
        add(writer, "http://h/b", "response", "404 Not Found", b"no", [HTML])
        add(writer, "http://h/c", "response", "301 Moved", b"there", [HTML])
        add(writer, "http://h/d", "response", "200 OK", b"", [HTML])
        add(writer, "http://h/e", "response", "200 OK", gzip.compress(os.urandom(500))[:200], coded)
        add(writer, "http://h/f", "response", "200 OK", bytes(2 * MAX), [HTML])
    a, e, f = items(source := source_of(tmp_path))
    assert (a.raw, e.raw, f.raw) == (b"hello", None, None)
    with pytest.raises(GiveUp, match="cannot be unpacked"):
        source.read(e.place)
    with pytest.raises(GiveUp, match="larger than"):
        source.read(f.place)


@pytest.mark.parametrize("packed", [True, False])
def test_damage_in_the_middle_is_told_and_the_rest_is_read(
    packed: bool, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "x.warc"
    begins = write(path, range(8), packed)
    content = bytearray(path.read_bytes())
    content[begins[3] + 1 : begins[4] - 10] = b"\xaa" * (begins[4] - begins[3] - 11)
    path.write_bytes(content)
    source = source_of(tmp_path)
    expected = {f"http://h/{n}" for n in (0, 1, 4, 5, 6, 7)}
    assert {item.source for item in items(source)} >= expected
    assert "cannot be read at byte" in caplog.text
    told = len(caplog.records)
    items(source)
    assert len(caplog.records) == told  # once
    scene = Scene(tmp_path / "state", source)
    scene.round()
    assert scene.pools.tallied("found") >= 6


@pytest.mark.parametrize("packed", [True, False])
def test_a_file_that_is_still_being_written_is_read_on(packed: bool, tmp_path: Path) -> None:
    path = tmp_path / "x.warc"
    write(path, range(4), packed)
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) * 5 // 8])
    scene = Scene(tmp_path / "state", source_of(tmp_path))
    scene.round()
    before = scene.pools.tallied("found")
    assert 1 <= before < 4
    path.write_bytes(whole)
    scene.round()
    assert scene.pools.tallied("found") == 4
    write(path, range(4, 6), packed, "ab")
    scene.round()
    assert scene.pools.tallied("found") == 6
    assert scene.pools.tallied("copies") == 0


def test_rubbish_and_nothing_are_no_documents(tmp_path: Path) -> None:
    for content in (b"", b"rubbish\n" * 1000, b"\x1f\x8b\x08" * 1000, bytes(3_000_000)):
        (tmp_path / "x.warc").write_bytes(content)
        assert items(source_of(tmp_path)) == []


def test_the_next_record_is_found_wherever_it_begins(tmp_path: Path) -> None:
    path = tmp_path / "x"
    record = gzip.compress(b"WARC/1.0\r\nrecord")
    for begin in (0, 1, 1048566, 1048567, 1048575, 1048576, 1048577, 2_097_151, 2_500_000):
        path.write_bytes(bytes(begin) + record)
        assert next_record(path, 0) == begin
        assert next_record(path, begin) == begin
        assert next_record(path, begin + 1) is None
        path.write_bytes(b"x" * (begin - 1) + b"\nWARC/1.1\r\n"[not begin :])
        assert next_record(path, 0) == (begin or None)
    path.write_bytes(b"\x1f\x8b\x08 no member" + record)
    assert next_record(path, 0) == 13
