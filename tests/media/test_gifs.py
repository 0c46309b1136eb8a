"""A gif moves, and is decoded whole within the limits, or is refused with a reason."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.media.test_images import memory_taken, mutated, mutations, prove
from tests.support.worlds import files
from tests.support.worlds.files import GifFrame, gif_of
from tools.errors import GiveUp
from tools.media.formats import sniff


def test_a_gif_has_a_size_a_duration_and_a_look(tmp_path: Path) -> None:
    facts = prove(files.animation(count=4), tmp_path)
    assert (facts.width, facts.height, facts.duration) == (200, 150, 0.32)
    assert facts.phash is not None


def test_the_first_frame_is_its_look(tmp_path: Path) -> None:
    long, short = (prove(files.animation(count=count), tmp_path) for count in (5, 2))
    assert long.phash == short.phash


def test_a_gif_without_times_lasts_no_time(tmp_path: Path) -> None:
    still, other = files.photo(1, 120, 120).quantize(8), files.photo(2, 120, 120).quantize(8)
    body = files.encoded(still, "gif", save_all=True, append_images=[other])
    assert prove(body, tmp_path).duration == 0.0


def test_a_single_frame_does_not_move(tmp_path: Path) -> None:
    with pytest.raises(GiveUp, match=r"^a gif that does not move$"):
        prove(files.animation(count=1), tmp_path)


def test_equal_frames_do_not_move(tmp_path: Path) -> None:
    with pytest.raises(GiveUp, match=r"^a gif that does not move$"):
        prove(gif_of(120, 120, *[GifFrame()] * 5), tmp_path)


def test_a_change_in_the_last_frame_is_a_movement(tmp_path: Path) -> None:
    still = gif_of(120, 120, *[GifFrame()] * 3)
    other = files.encoded(files.photo(1, 120, 120).quantize(8), "gif")
    assert prove(still[:-1] + other[other.index(b",\0\0\0\0") :], tmp_path).width == 120


def every_cut(body: bytes) -> list[bytes]:
    return [body[:length] for length in (*range(len(body) - 40, len(body)), len(body) // 2)]


def test_a_gif_cut_anywhere_is_refused_even_between_frames(tmp_path: Path) -> None:
    frame = GifFrame().bytes()
    whole = files.animation()[:-1] + frame * 3 + b";"
    assert prove(whole, tmp_path).width == 200
    for part in every_cut(whole):
        with pytest.raises(GiveUp, match=r"^damaged or cut short$"):
            prove(part, tmp_path)


def test_a_hundred_thousand_frames_are_refused(tmp_path: Path) -> None:
    body = gif_of(100, 100, *[GifFrame()] * 100_000)
    with pytest.raises(GiveUp, match=r"^too many frames \(more than 1000\)$"):
        prove(body, tmp_path)


def test_the_limits_themselves_are_allowed(tmp_path: Path) -> None:
    body = files.animation(count=4)
    assert prove(body, tmp_path, max_frames=4, max_frame_pixels=4 * 200 * 150).duration == 0.32
    with pytest.raises(GiveUp, match=r"^too many frames \(more than 3\)$"):
        prove(body, tmp_path, max_frames=3)
    with pytest.raises(GiveUp, match=r"^too many pixels in its frames \(more than 119999\)$"):
        prove(body, tmp_path, max_frame_pixels=4 * 200 * 150 - 1)


HUGE = {
    "screen": gif_of(65_535, 65_535, GifFrame(), GifFrame(5)),
    "screen within Pillow's limit": gif_of(9_000, 9_000, GifFrame(), GifFrame(5)),
    "first frame": gif_of(100, 100, GifFrame(0, 0, 65_535, 65_535), GifFrame()),
    "later frame": gif_of(100, 100, GifFrame(), GifFrame(65_535, 65_535, 9, 9)),
    "later frame within Pillow's limit": gif_of(100, 100, GifFrame(), GifFrame(0, 0, 9_000, 9_000)),
    "disposal": gif_of(100, 100, GifFrame(), GifFrame(0, 0, 60_000, 60_000, disposal=2)),
    "disposals": gif_of(100, 100, *[GifFrame(0, 0, 9_000, 9_000, disposal=2)] * 2),
}


@pytest.mark.parametrize("name", HUGE)
def test_what_is_huge_is_refused(name: str, tmp_path: Path) -> None:
    with pytest.raises(GiveUp, match=r"^too many pixels"):
        prove(HUGE[name], tmp_path)


@pytest.mark.parametrize("name", ["screen", "later frame within Pillow's limit", "disposals"])
def test_memory_stays_flat_when_a_huge_gif_comes(name: str, tmp_path: Path) -> None:
    assert memory_taken(files.animation(), HUGE[name], tmp_path) < 20_000_000


def test_a_tiny_gif_is_refused(tmp_path: Path) -> None:
    with pytest.raises(GiveUp, match=r"^too small"):
        prove(gif_of(99, 200, GifFrame(), GifFrame(5)), tmp_path)


def test_an_archive_behind_the_gif_changes_nothing(tmp_path: Path) -> None:
    body = files.animation()
    assert prove(body + b"PK\x03\x04" + bytes(100), tmp_path) == prove(body, tmp_path)


def test_changed_bytes_never_do_more_than_refuse(tmp_path: Path) -> None:
    small = files.animation("gif", 3, 1, 140)

    @settings(max_examples=150)
    @given(**mutations, header=st.binary(max_size=13))
    def check(changes: list[tuple[int, int]], cut: float, header: bytes) -> None:
        body = mutated(small, changes, cut)
        body = body[:6] + header + body[6 + len(header) :]
        if sniff(body) is not None:
            try:
                prove(body, tmp_path, max_pixels=100_000)
            except GiveUp as error:
                assert str(error)

    check()
