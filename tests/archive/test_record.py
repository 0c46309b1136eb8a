"""Records are valid and say what came, whatever came: warcio and fastwarc read them."""

from __future__ import annotations

import gzip
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from warcio.archiveiterator import ArchiveIterator
from warcio.cli import main as warcio_main

from tests.archive.oracles import fast_records
from tests.archive.scene import HTML, TIME, answer
from tools.archive.record import (
    NOT_MODIFIED,
    SAME_PAYLOAD,
    Earlier,
    Exchange,
    Packed,
    pack,
    payload_digest,
)

NAMES = st.text("abcXYZ-_09", min_size=1, max_size=12).map("X{}".format)
VALUES = st.text(st.characters(min_codepoint=33, max_codepoint=126), max_size=40)
ANYTHING = st.text(st.characters(max_codepoint=0x2FF), max_size=30)


def read(content: bytes) -> list[tuple[Any, bytes]]:
    """Each record and its payload, with every digest proven."""
    found = []
    for record in ArchiveIterator(BytesIO(content), check_digests="raise"):
        found.append((record, record.raw_stream.read()))
    return found


def is_proven(packed: Packed, folder: Path) -> bool:
    (folder / "one.warc.gz").write_bytes(packed.content)
    with pytest.raises(SystemExit) as ended:
        warcio_main(["check", str(folder / "one.warc.gz")])
    return ended.value.code == 0


@given(st.lists(st.tuples(NAMES, VALUES), max_size=8), st.binary(max_size=300))
def test_headers_and_body_come_back(headers: list[tuple[str, str]], payload: bytes) -> None:
    (found, body), (request, _) = read(pack(answer(payload=payload, headers=headers)).content)
    assert body == payload
    assert found.http_headers.headers == [*headers, ("Content-Length", str(len(payload)))]
    assert found.http_headers.get_statuscode() == "200"
    assert request.http_headers.get_header("Host") == "example.org"


@given(st.lists(st.tuples(ANYTHING, ANYTHING), max_size=8), ANYTHING, ANYTHING, st.binary())
def test_hostile_headers_give_valid_records(
    headers: list[tuple[str, str]], reason: str, address: str, payload: bytes
) -> None:
    asked = f"http://example.org/{address}"
    sent = Exchange(asked, TIME, 200, headers, payload, reason, request=f"GET {address} HTTP/1.1")
    packed = pack(sent, notes={reason: address})
    first, second, _ = read(packed.content)
    assert (first[1], second[1]) == (payload, b"")
    assert first[0].rec_headers.get_header("WARC-Target-URI").isascii()
    kept = [name for name, _ in headers if name.strip().lower() not in ("content-length",)]
    assert len(first[0].http_headers.headers) >= len(kept)
    kinds = [("response", True), ("request", True), ("metadata", True)]
    assert fast_records(packed.content) == kinds


def test_very_long_and_very_many_headers(tmp_path: Path) -> None:
    headers = [("X-Long", "y" * 100_000), *[("Set-Cookie", f"a{n}=b") for n in range(2000)]]
    packed = pack(answer(headers=headers))
    assert read(packed.content)[0][0].http_headers.headers[:2001] == headers
    assert is_proven(packed, tmp_path)


def test_bytes_of_a_header_are_those_that_came() -> None:
    packed = pack(answer(headers=[("Location", "/caf\xc3\xa9"), ("X", "caf\xe9")]))
    raw = gzip.decompress(packed.content)
    assert b"Location: /caf\xc3\xa9\r\nX: caf\xe9\r\n" in raw


def test_a_header_cannot_end_itself() -> None:
    packed = pack(answer(headers=[("X", "a\r\n\r\nb"), ("Y\r\nZ: 1", "\0\n 2")]))
    ((found, body), _) = read(packed.content)
    assert found.http_headers.headers[:2] == [("X", "a b"), ("Y__Z__1", "2")]
    assert body == b"<p>hello"


def test_the_transfer_is_undone_and_the_packing_stays() -> None:
    payload = gzip.compress(b"hello")
    headers = [
        ("Transfer-Encoding", "chunked"),
        ("content-length", "7"),
        ("CONTENT-LENGTH", "9"),
        ("Content-Encoding", "gzip"),
    ]
    ((found, body), _) = read(pack(answer(payload=payload, headers=headers)).content)
    assert body == payload
    expected = [("Content-Encoding", "gzip"), ("Content-Length", str(len(payload)))]
    assert found.http_headers.headers == expected


def test_what_the_records_say_about_themselves() -> None:
    packed = pack(answer(), notes={"via": "http://example.org/from"})
    (response, _), (request, _), (metadata, notes) = read(packed.content)
    about = response.rec_headers
    assert about.protocol == "WARC/1.1"
    assert about.get_header("WARC-Target-URI") == "http://example.org/"
    assert about.get_header("WARC-Date") == "2026-05-04T03:02:01.654321Z"
    assert about.get_header("WARC-IP-Address") == "192.0.2.1"
    assert about.get_header("WARC-Payload-Digest") == packed.digest == payload_digest(b"<p>hello")
    for other in (request, metadata):
        assert other.rec_headers["WARC-Concurrent-To"] == about["WARC-Record-ID"]
    assert notes == b"via: http://example.org/from\r\n"
    assert (packed.kind, packed.mime) == ("response", "text/html")


def test_each_record_is_a_gzip_member_of_its_own() -> None:
    packed = pack(answer(), notes={"a": "b"})
    assert [part.kind for part in packed.parts] == ["response", "request", "metadata"]
    for part in packed.parts:
        member = packed.content[part.offset : part.offset + part.length]
        assert gzip.decompress(member).startswith(f"WARC/1.1\r\nWARC-Type: {part.kind}".encode())
    assert sum(part.length for part in packed.parts) == len(packed.content)


@pytest.mark.parametrize(("status", "profile"), [(200, SAME_PAYLOAD), (304, NOT_MODIFIED)])
def test_a_revisit_refers_to_the_earlier_record(status: int, profile: str, tmp_path: Path) -> None:
    earlier = Earlier("http://example.org/old", TIME, payload_digest(b"same"))
    payload = b"same" if status == 200 else b""
    packed = pack(answer(payload=payload, status=status, headers=[HTML]), earlier=earlier)
    ((found, body), _) = read(packed.content)
    about = found.rec_headers
    assert (packed.kind, packed.mime, body) == ("revisit", "warc/revisit", b"")
    assert (about["WARC-Profile"], about["WARC-Payload-Digest"]) == (profile, earlier.digest)
    assert about["WARC-Refers-To-Target-URI"] == "http://example.org/old"
    assert about["WARC-Refers-To-Date"] == "2026-05-04T03:02:01.654321Z"
    assert found.http_headers.get_header("Content-Length") == ("4" if status == 200 else None)
    assert is_proven(packed, tmp_path)


def test_an_address_has_no_brackets_and_no_spaces() -> None:
    ((found, _), _) = read(pack(answer("http://example.org/a b<c>\x00é%20\ud800")).content)
    target = found.rec_headers.get_header("WARC-Target-URI")
    assert target == "http://example.org/a%20b%3Cc%3E%00%C3%A9%20?"


def test_an_answer_without_a_request_is_one_record() -> None:
    packed = pack(Exchange("http://example.org/", TIME, 200, [], b"x"))
    assert [part.kind for part in packed.parts] == ["response"]
