"""The first bytes alone say what a file is."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.worlds import files
from tools.media import formats as sniff

GOOD = {
    "jpeg": files.image("jpeg"),
    "png": files.image("png"),
    "webp": files.image("webp"),
    "gif": files.animation(),
    "wav": files.sound("wav"),
    "flac": files.sound("flac"),
    "mp3": files.sound("mp3"),
    "ogg": files.sound("ogg"),
}


@pytest.mark.parametrize("name", GOOD)
def test_every_format_is_known_by_its_first_bytes(name: str) -> None:
    found = sniff.sniff(GOOD[name][: sniff.HEAD])
    assert found is not None
    assert found.name == name
    assert sniff.name_of(GOOD[name]) == name


def test_opus_is_an_ogg() -> None:
    assert sniff.sniff(files.sound("opus")) == sniff.OGG


def test_a_tag_before_the_music_is_an_mp3() -> None:
    assert sniff.sniff(b"ID3\x04\x00\x00\x00\x00\x00\x00") == sniff.MP3


@pytest.mark.parametrize(
    ("head", "name"),
    [
        (b"", "bytes of no known format"),
        (b"\xef\xbb\xbf\r\n  <!DOCTYPE HTML><html>", "HTML"),
        (b"<HTML><img src='GIF89a'>", "HTML"),
        (b"<svg xmlns='http://www.w3.org/2000/svg'/>", "SVG"),
        (b"<?xml version='1.0'?><svg/>", "XML"),
        (b'{"error": "no"}', "JSON"),
        (b"%PDF-1.7", "PDF"),
        (b"PK\x03\x04", "ZIP"),
        (b"\x00\x00\x00\x20ftypisom", "MP4"),
        (b"RIFF\x10\x00\x00\x00AVI LIST", "another RIFF"),
        (b"OggS\x00\x02" + bytes(20) + b"\x01\x1e\x80theora", "another OGG"),
        (b"OggS", "another OGG"),
        (b"\xff\xfeh\x00e\x00", "bytes of no known format"),  # UTF-16, not a frame of sound
        (b"\xff\xf1\x50\x80", "bytes of no known format"),  # AAC
        (b"\xff\xfb\xf0\x00", "bytes of no known format"),  # no such bit rate
        (b"GIF88a", "bytes of no known format"),
    ],
)
def test_what_is_not_ours_is_named_as_far_as_it_is_known(head: bytes, name: str) -> None:
    assert sniff.sniff(head) is None
    assert sniff.name_of(head) == name


@given(st.binary(max_size=64))
def test_any_bytes_have_a_name(head: bytes) -> None:
    assert sniff.name_of(head)
