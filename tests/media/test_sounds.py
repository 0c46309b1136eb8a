"""A sound is decoded whole within the limits, or refused with a reason; nothing is printed."""

from __future__ import annotations

import functools
import io
import struct
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import soundfile
from hypothesis import given, settings

from tests.media.test_images import memory_taken, mutated, mutations, prove
from tests.support.worlds import files
from tools.errors import GiveUp
from tools.media.formats import sniff
from tools.media.mpeg import frame_at

FORMS = list(files.SOUNDS)


@pytest.mark.parametrize("form", FORMS)
def test_a_good_sound_has_a_duration(form: str, tmp_path: Path) -> None:
    facts = prove(files.sound(form), tmp_path)
    assert facts.duration == pytest.approx(1.0, abs=0.01)
    assert (facts.width, facts.height, facts.phash) == (None, None, None)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("part", [0.05, 0.3, 0.6, 0.9])
def test_a_part_of_a_sound_is_refused(form: str, part: float, tmp_path: Path) -> None:
    body = files.sound(form, 3.0)
    with pytest.raises(GiveUp, match=r"cut short$|^too short"):
        prove(body[: round(len(body) * part)], tmp_path)


@pytest.mark.parametrize("form", ["wav", "float.wav", "ogg", "opus", "flac"])
@pytest.mark.parametrize("missing", [1, 2, 10, 100])
def test_a_few_bytes_less_are_noticed_too(form: str, missing: int, tmp_path: Path) -> None:
    with pytest.raises(GiveUp, match=r"cut short$"):
        prove(files.sound(form)[:-missing], tmp_path)


@pytest.mark.parametrize("form", ["ogg", "opus"])
def test_a_missing_last_page_is_noticed(form: str, tmp_path: Path) -> None:
    body = files.sound(form, 9.0)
    with pytest.raises(GiveUp, match=r"^cut short$"):
        prove(body[: body.rindex(b"OggS")], tmp_path)


@pytest.mark.parametrize("form", ["ogg", "opus"])
@pytest.mark.parametrize("links", [2, 20])
def test_several_sounds_in_one_ogg_are_refused(form: str, links: int, tmp_path: Path) -> None:
    """The decoder would read the first of them alone."""
    with pytest.raises(GiveUp, match=r"^several sounds in one$"):
        prove(files.sound(form) * links, tmp_path)


@pytest.mark.parametrize("form", ["ogg", "opus"])
def test_a_damaged_sound_amid_an_ogg_is_refused(form: str, tmp_path: Path) -> None:
    damaged = bytearray(files.sound(form))
    damaged[len(damaged) // 2] ^= 0xFF
    with pytest.raises(GiveUp):
        prove(files.sound(form) + bytes(damaged) + files.sound(form), tmp_path)


@pytest.mark.parametrize("form", ["ogg", "opus"])
def test_a_page_that_is_damaged_or_missing_is_noticed(form: str, tmp_path: Path) -> None:
    body = files.sound(form, 9.0)
    last = body.rindex(b"OggS")
    page = body.rindex(b"OggS", 0, last)
    with pytest.raises(GiveUp, match="damaged"):
        prove(body[:page] + body[last:], tmp_path)
    with pytest.raises(GiveUp, match="damaged"):
        prove(body[: page + 200] + b"\xaa\x55" + body[page + 202 :], tmp_path)


def test_bytes_behind_the_last_page_are_no_part_of_the_sound(tmp_path: Path) -> None:
    assert prove(files.sound("ogg") + b"TAG" + bytes(125), tmp_path).duration == 1.0


# ---- MP3s: with the header that tells how long they are, and without it


@functools.cache
def mp3(seconds: float = 1.0, mode: str = "CONSTANT") -> bytes:
    file = io.BytesIO()
    how: Any = {"bitrate_mode": mode, "compression_level": 0.5}  # one has no effect alone
    soundfile.write(file, files.tone(seconds), files.RATE, format="MP3", **how)
    return file.getvalue()


def without_header(body: bytes) -> bytes:
    """The header is a frame of its own, the first one."""
    frame = frame_at(body)
    assert frame is not None
    assert b"Info" in body[: frame.size] or b"Xing" in body[: frame.size]
    return body[frame.size :]


CUTS = [0.95, 0.96, 0.97, 0.98, 0.99, 0.995, 0.999]


@pytest.mark.parametrize("part", CUTS)
def test_the_very_end_of_an_mp3_is_missed(part: float, tmp_path: Path) -> None:
    body = mp3(9.0)
    for whole in (body, without_header(body), mp3(9.0, "VARIABLE")):
        assert prove(whole, tmp_path).duration == pytest.approx(9.0, abs=0.1)
        with pytest.raises(GiveUp, match=r"^cut short$"):
            prove(whole[: round(len(whole) * part)], tmp_path)


@pytest.mark.parametrize("missing", [1, 2, 10, 100])
def test_a_few_bytes_less_of_an_mp3_are_noticed(missing: int, tmp_path: Path) -> None:
    body = mp3()
    for whole in (body, without_header(body), mp3(1.0, "VARIABLE")):
        with pytest.raises(GiveUp, match=r"^cut short$"):
            prove(whole[:-missing], tmp_path)


def test_a_missing_frame_is_noticed_where_a_header_counts_them(tmp_path: Path) -> None:
    body = mp3()
    at = ends = 0
    while frame := frame_at(body[at : at + 4]):
        at, ends = at + frame.size, at
    assert at == len(body)
    with pytest.raises(GiveUp, match=r"^cut short$"):
        prove(body[:ends], tmp_path)
    with pytest.raises(GiveUp, match="longer"):
        prove(body + body[ends:], tmp_path)


def test_only_tags_may_follow_an_mp3(tmp_path: Path) -> None:
    body, id3v1 = mp3(), b"TAG" + bytes(125)
    ape_end = b"APETAGEX" + struct.pack("<IIII8x", 2000, 32 + 10, 1, 1 << 31)
    ape_begin = b"APETAGEX" + struct.pack("<IIII8x", 2000, 32 + 10, 1, 1 << 31 | 1 << 29)
    ape = bytes(10) + ape_end
    for tags in (id3v1, ape, ape_begin + ape, ape_begin + ape + id3v1):
        for whole in (body, without_header(body)):
            assert prove(whole + tags, tmp_path).duration
    for junk in (bytes(1), bytes(5000), b"<html>", id3v1[:-1], b"x" + ape, id3v1 + b"x"):
        assert prove(body + junk, tmp_path).duration, "its header says that all frames are there"
        with pytest.raises(GiveUp):
            prove(without_header(body) + junk, tmp_path)


def test_an_mp3_whose_length_the_decoder_would_guess_wrong_is_refused(tmp_path: Path) -> None:
    with pytest.raises(GiveUp, match=r"^no header says how long it is$"):
        prove(without_header(mp3(9.0, "VARIABLE")), tmp_path)


def test_tags_before_an_mp3_are_passed_over(tmp_path: Path) -> None:
    tag = b"ID3\x04\x00\x00\x00\x00\x00\x0a" + bytes(10)
    assert prove(tag + tag + files.sound("mp3"), tmp_path).duration


@pytest.mark.parametrize("form", FORMS)
def test_silence_is_refused(form: str, tmp_path: Path) -> None:
    with pytest.raises(GiveUp, match=r"^silence$"):
        prove(files.silence(form), tmp_path)


@pytest.mark.parametrize("form", FORMS)
def test_a_sound_after_a_long_silence_is_heard(form: str, tmp_path: Path) -> None:
    late = np.concatenate([np.zeros(8 * 48_000, np.float32), files.tone(1.0, 48_000)])
    duration = prove(files.as_sound(late, form, 48_000), tmp_path).duration
    assert duration == pytest.approx(9.0, abs=0.01)


def test_a_faint_sound_is_heard_in_floating_point(tmp_path: Path) -> None:
    faint = files.as_sound((files.tone() / 1000).astype(np.float32), "float.wav")
    assert prove(faint, tmp_path).duration == 1.0


def test_a_sound_that_is_no_number_is_silence(tmp_path: Path) -> None:
    nothing = np.full(files.RATE, np.nan, np.float32)
    with pytest.raises(GiveUp, match=r"^silence$"):
        prove(files.as_sound(nothing, "float.wav"), tmp_path)


@pytest.mark.parametrize("form", FORMS)
def test_too_short_and_too_long_are_refused(form: str, tmp_path: Path) -> None:
    with pytest.raises(GiveUp, match=r"^too short \(1\.0\d s\)$"):
        prove(files.sound(form), tmp_path, min_seconds=1.1)
    with pytest.raises(GiveUp, match=r"^too long \(more than 0\.9 s\)$"):
        prove(files.sound(form), tmp_path, max_seconds=0.9)
    assert prove(files.sound(form), tmp_path, min_seconds=0.95, max_seconds=1.05).duration


def test_stereo_and_low_rates_are_good(tmp_path: Path) -> None:
    mono = files.tone(1.0, 8_000)
    body = files.as_sound(np.stack([mono, mono], axis=1), "wav", 8_000)
    assert prove(body, tmp_path).duration == 1.0


def test_strange_sounds_are_refused(tmp_path: Path) -> None:
    many = np.zeros((1_000, 9), np.float32)
    with pytest.raises(GiveUp, match=r"^a strange sound \(9 channels, 44100 Hz\)$"):
        prove(files.as_sound(many, "wav"), tmp_path)
    with pytest.raises(GiveUp, match=r"^a strange sound \(1 channels, 1000000 Hz\)$"):
        prove(files.as_sound(files.tone(), "wav", 1_000_000), tmp_path)


def test_another_sound_behind_a_tag_is_refused(tmp_path: Path) -> None:
    tag = b"ID3\x04\x00\x00\x00\x00\x00\x0a" + bytes(10)
    with pytest.raises(GiveUp, match=r"^another sound inside \(FLAC\)$|^damaged"):
        prove(tag + files.sound("flac"), tmp_path)
    assert prove(tag + files.sound("mp3"), tmp_path).duration


def test_memory_stays_flat_when_a_long_sound_comes(tmp_path: Path) -> None:
    """Four minutes of it are 42 MB decoded; it is refused at its end."""
    long = np.zeros(240 * files.RATE, np.float32)
    body = files.as_sound(long, "flac")
    assert len(body) < 1_000_000
    assert memory_taken(files.sound("flac"), body, tmp_path) < 15_000_000


NOISE = """
import random, sys
from pathlib import Path
from typing import Any
from tests.media.test_images import prove
from tools.errors import GiveUp
body = Path(sys.argv[1], "mp3").read_bytes()
dice = random.Random(5)
refused = 0
for _ in range(40):
    damaged = bytearray(body)
    for _ in range(50):
        damaged[dice.randrange(200, len(damaged))] = dice.randrange(256)
    try:
        prove(bytes(damaged), Path(sys.argv[1]))
    except GiveUp:
        refused += 1
print(refused)
print("we are heard", file=sys.stderr)
"""


def test_nobody_but_us_writes_to_the_terminal(tmp_path: Path) -> None:
    """The decoder of MP3 complains about such files at length."""
    (tmp_path / "mp3").write_bytes(files.sound("mp3"))
    command = [sys.executable, "-c", NOISE, str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=30)
    assert done.stderr == "we are heard\n"
    assert int(done.stdout) > 0


@pytest.mark.parametrize("form", FORMS)
def test_changed_bytes_never_do_more_than_refuse(
    form: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("mutated")
    small = files.sound(form, 0.3)

    @settings(max_examples=60)
    @given(**mutations)
    def check(changes: list[tuple[int, int]], cut: float) -> None:
        body = mutated(small, changes, cut)
        if sniff(body) is not None:
            try:
                prove(body, folder)
            except GiveUp as error:
                assert str(error)

    check()
