"""A JPEG as nearly all are is decoded in one call, and judged as by Pillow's own way."""

from __future__ import annotations

import io
import resource
from pathlib import Path
from unittest.mock import patch

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.worlds import files
from tools import download_images
from tools.errors import GiveUp
from tools.media.formats import JPEG, Facts
from tools.media.jpeg import AT_ONCE, Jpeg, plain_jpeg
from tools.media.settings import MediaSettings

USUAL = [
    files.encoded(files.photo(1, 300, 220), "jpeg", quality=quality, progressive=progressive)
    for quality in (30, 90)
    for progressive in (False, True)
]
USUAL.append(files.encoded(files.photo(1, 300, 220).convert("L"), "jpeg"))
USUAL.append(files.encoded(files.photo(2, 1100, 801), "jpeg", quality=30))
USUAL.append(files.encoded(files.photo(1, 300, 220), "jpeg", comment=b"x" * 300, dpi=(300, 300)))
TABLES = 700  # bytes before the picture itself, most of them

places = st.one_of(st.integers(2, TABLES), st.integers(2, 10**6))
changes = st.lists(st.tuples(places, st.integers(0, 255)), max_size=5)
cuts = st.sampled_from([1.0, 1.0, 1.0, 0.9, 0.1])


def judged(body: bytes, path: Path, is_left_to_pillow: bool = False) -> Facts | str:
    path.write_bytes(body)
    way = plain_jpeg if not is_left_to_pillow else lambda *_: None
    with path.open("rb") as file, patch.object(download_images, "plain_jpeg", way):
        try:
            return download_images.prove(file, JPEG, MediaSettings())
        except GiveUp as error:
            return str(error)


def taken(body: bytes, path: Path, limits: MediaSettings | None = None) -> Jpeg | None:
    path.write_bytes(body)
    with path.open("rb") as file:
        return plain_jpeg(file, limits or MediaSettings())


@pytest.mark.parametrize("body", USUAL)
def test_a_usual_one_has_the_facts_that_pillow_finds(body: bytes, tmp_path: Path) -> None:
    found = taken(body, tmp_path / "file")
    assert found is not None
    facts = judged(body, tmp_path / "file")
    assert isinstance(facts, Facts)
    assert facts == judged(body, tmp_path / "file", is_left_to_pillow=True)
    assert (found.width, found.height) == facts[:2]


@given(body=st.sampled_from(USUAL), changes=changes, cut=cuts)
@settings(max_examples=150)
def test_a_damaged_one_is_judged_as_pillow_judges_it(
    body: bytes,
    changes: list[tuple[int, int]],
    cut: float,
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    copy = bytearray(body[: round(len(body) * cut)])
    for place, value in changes:
        copy[place % len(copy)] = value
    copy[:3] = body[:3]
    path = tmp_path_factory.getbasetemp() / "file"
    here, there = (judged(bytes(copy), path, each) for each in (False, True))
    assert here == there or (isinstance(here, str) and isinstance(there, str))


def test_unusual_ones_are_left_to_pillow(tmp_path: Path) -> None:
    plain = USUAL[0]
    unusual = {
        "four colours": files.encoded(files.photo(1, 300, 220).convert("CMYK"), "jpeg"),
        "filled up": plain[:2] + b"\xff" + plain[2:],
        "rubbish between": plain[:2] + b"\x00\x00" + plain[2:],
        "long": plain + bytes(AT_ONCE),
    }
    for name, body in unusual.items():
        assert taken(body, tmp_path / "file") is None, name
        assert isinstance(judged(body, tmp_path / "file"), Facts) or name == "rubbish between"
    limits = MediaSettings(max_frame_pixels=300 * 220 - 1)
    assert taken(plain, tmp_path / "file", limits) is None


def test_nothing_is_left_in_memory_of_those_that_are_refused(tmp_path: Path) -> None:
    """A decoder of each would stay, with tables of its own."""
    (tmp_path / "file").write_bytes(USUAL[0][:-2000])
    with (tmp_path / "file").open("rb") as file:
        for _ in range(50):
            refused(file)
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        for _ in range(1000):
            refused(file)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 10_000  # KiB


def refused(file: io.BufferedReader) -> None:
    with pytest.raises(GiveUp, match=r"^damaged or cut short$"):
        download_images.prove(file, JPEG, MediaSettings())
