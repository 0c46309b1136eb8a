"""An image is decoded whole within the limits, or refused with a reason."""

from __future__ import annotations

import io
import itertools
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from tests.support.worlds import files
from tools.errors import GiveUp
from tools.extend import media_kinds
from tools.media import formats as sniff_table
from tools.media import pictures
from tools.media.formats import Facts, sniff
from tools.media.pictures import dhash, differing_bits
from tools.media.settings import MediaSettings
from tools.sample import drawing

FORMS = ["jpeg", "png", "webp"]


def prove(body: bytes, folder: Path, **limits: Any) -> Facts:
    """What the module in charge says of such a file."""
    path = folder / "file"
    path.write_bytes(body)
    form = sniff(body)
    assert form is not None
    [module] = [each for each in media_kinds(sounds=False).values() if form in each.FORMATS]
    with path.open("rb") as file:
        return module.prove(file, form, MediaSettings(**limits))


def mutated(body: bytes, changes: list[tuple[int, int]], cut: float) -> bytes:
    """Some bytes replaced, the end missing."""
    copy = bytearray(body[: max(12, round(len(body) * cut))])
    for place, value in changes:
        copy[place % len(copy)] = value
    return bytes(copy)


mutations = {
    "changes": st.lists(st.tuples(st.integers(0, 10**6), st.integers(0, 255)), max_size=12),
    "cut": st.sampled_from([1.0, 1.0, 1.0, 0.9, 0.5, 0.1]),
}


@pytest.mark.parametrize("form", FORMS)
def test_a_good_image_has_a_size_and_a_look(form: str, tmp_path: Path) -> None:
    facts = prove(files.image(form), tmp_path)
    assert (facts.width, facts.height, facts.duration) == (512, 384, None)
    assert facts.phash is not None
    assert len(facts.phash) == 16


def test_the_same_picture_in_other_formats_and_sizes_looks_alike(tmp_path: Path) -> None:
    smaller = files.photo().resize((300, 225))
    variants = [files.image(form) for form in FORMS]
    variants += [files.encoded(smaller, "jpeg", quality=40), files.encoded(smaller, "png")]
    variants.append(files.encoded(files.photo().convert("CMYK"), "jpeg"))
    looks = [prove(each, tmp_path).phash or "" for each in variants]
    distances = [pictures.differing_bits(looks[0], each) for each in looks]
    assert max(distances) <= MediaSettings().near_bits


def test_other_pictures_look_different(tmp_path: Path) -> None:
    looks = [prove(files.image(seed=seed), tmp_path).phash or "" for seed in range(8)]
    distances = [pictures.differing_bits(a, b) for a, b in itertools.combinations(looks, 2)]
    assert min(distances) > 2 * MediaSettings().near_bits


@pytest.mark.parametrize("mode", ["1", "L", "LA", "P", "RGB", "RGBA", "I;16"])
def test_every_mode_of_png_has_a_look_of_its_own(mode: str, tmp_path: Path) -> None:
    def look(seed: int) -> str:
        grey = np.asarray(files.photo(seed).convert("L")).astype(np.uint16)
        wide = mode == "I;16"
        picture = Image.fromarray(grey * 256) if wide else files.photo(seed).convert(mode)
        assert picture.mode == mode
        return prove(files.encoded(picture, "png"), tmp_path).phash or ""

    assert pictures.differing_bits(look(1), look(2)) > 2 * MediaSettings().near_bits


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("part", [0.02, 0.3, 0.6, 0.9, 0.999])
def test_a_part_of_an_image_is_refused(form: str, part: float, tmp_path: Path) -> None:
    body = files.image(form)
    with pytest.raises(GiveUp, match=r"^damaged or cut short$"):
        prove(body[: round(len(body) * part)], tmp_path)


def test_a_png_without_its_end_is_refused(tmp_path: Path) -> None:
    with pytest.raises(GiveUp, match=r"^damaged or cut short$"):
        prove(files.image("png")[:-12], tmp_path)


@pytest.mark.parametrize("form", ["png", "webp"])
def test_every_frame_of_a_moving_image_is_decoded(form: str, tmp_path: Path) -> None:
    body = files.animation(form)
    assert prove(body, tmp_path).width == 200
    with pytest.raises(GiveUp, match=r"^damaged or cut short$"):
        prove(body[: len(body) * 9 // 10], tmp_path)
    with pytest.raises(GiveUp, match=r"^too many frames"):
        prove(body, tmp_path, max_frames=3)
    with pytest.raises(GiveUp, match=r"^too many pixels in its frames"):
        prove(body, tmp_path, max_frame_pixels=4 * 200 * 150 - 1)


def test_damage_in_the_last_frame_is_noticed(tmp_path: Path) -> None:
    body = bytearray(files.animation("png"))
    last = body.rindex(b"fdAT") + 8
    body[last : last + 500] = bytes(500)
    with pytest.raises(GiveUp, match=r"^damaged or cut short$"):
        prove(bytes(body), tmp_path)


@pytest.mark.parametrize(("width", "height"), [(99, 384), (512, 99), (1, 1)])
def test_a_tiny_image_is_refused(width: int, height: int, tmp_path: Path) -> None:
    with pytest.raises(GiveUp, match=rf"^too small \({width}x{height}\)$"):
        prove(files.image("png", 1, width, height), tmp_path)


def test_the_limits_themselves_are_allowed(tmp_path: Path) -> None:
    body = files.image("png", 1, 200, 100)
    assert prove(body, tmp_path, min_side=100, max_pixels=20_000).height == 100
    with pytest.raises(GiveUp, match=r"^too many pixels \(200x100\)$"):
        prove(body, tmp_path, max_pixels=19_999)


def webp_bomb() -> bytes:
    """An image of 16 million pixels a side, says its header."""
    body = bytearray(files.animation("webp"))
    body[24:30] = b"\xff" * 6
    return bytes(body)


def scans() -> bytes:
    """A progressive image that is sent over and over."""
    body = files.encoded(files.photo(1, 200, 150), "jpeg", progressive=True)
    last = body.rindex(b"\xff\xda")
    return body[:last] + body[last:-2] * 200 + body[-2:]


BOMBS: dict[str, tuple[Callable[[], bytes], str]] = {
    "30000x30000 png": (lambda: files.png_bomb(30_000, 30_000), r"too many pixels \(30000x30000\)"),
    "12000x12000 png": (lambda: files.png_bomb(12_000, 12_000), r"too many pixels \(12000x12000\)"),
    "webp": (webp_bomb, "too many pixels|damaged"),
    "scans": (scans, r"too many scans \(2"),
}


@pytest.mark.parametrize("name", BOMBS)
def test_a_bomb_is_refused_before_it_takes_memory(name: str, tmp_path: Path) -> None:
    make, reason = BOMBS[name]
    body = make()
    assert len(body) < 3_000_000
    with pytest.raises(GiveUp, match=f"^{reason}"):
        prove(body, tmp_path)


MEMORY = """
import sys
from pathlib import Path
from tests.media.test_images import prove
from tools.errors import GiveUp
from tools.media.pictures import dhash, differing_bits
from tools.sample import drawing
from tools.media.pictures import limit_pixels
from tools.media.settings import MediaSettings

def most_so_far():  # ru_maxrss would begin with what our parent had
    return int(Path("/proc/self/status").read_text().partition("VmHWM:")[2].split()[0])

limit_pixels(MediaSettings().max_pixels)
good, bad, folder = (Path(each) for each in sys.argv[1:])
prove(good.read_bytes(), folder)
before = most_so_far()
try:
    prove(bad.read_bytes(), folder)
    sys.exit("it was accepted")
except GiveUp:
    print(most_so_far() - before)
"""


def memory_taken(good: bytes, bad: bytes, folder: Path) -> int:
    """Bytes that refusing a file takes on top of accepting another, in a process of its own."""
    (folder / "good").write_bytes(good)
    (folder / "bad").write_bytes(bad)
    command = [sys.executable, "-c", MEMORY, f"{folder}/good", f"{folder}/bad", str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=30)
    assert (done.returncode, done.stderr) == (0, "")
    return 1024 * int(done.stdout)


def test_memory_stays_flat_when_a_bomb_comes(tmp_path: Path) -> None:
    """12000x12000 pixels would be 144 MB."""
    assert memory_taken(files.image(), files.png_bomb(12_000, 12_000), tmp_path) < 20_000_000


def test_a_page_behind_the_image_changes_nothing(tmp_path: Path) -> None:
    """The name and type of a file follow from its first bytes, so it is never shown as a page."""
    body = files.image() + b"<html><script>alert(1)</script></html>"
    assert prove(body, tmp_path) == prove(files.image(), tmp_path)


def test_threads_do_not_disturb_each_other(tmp_path: Path) -> None:
    def judge(number: int) -> str:
        folder = tmp_path / str(number)
        folder.mkdir()
        try:
            body = files.png_bomb(12_000, 12_000) if number % 2 else files.image(seed=1)
            return str(prove(body, folder).width)
        except GiveUp as error:
            return str(error)

    with ThreadPoolExecutor(8) as threads:
        said = list(threads.map(judge, range(16)))
    assert said == ["512", "too many pixels (12000x12000)"] * 8


@pytest.mark.parametrize("form", [*FORMS, "apng"])
def test_changed_bytes_never_do_more_than_refuse(
    form: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("mutated")
    small = files.animation("png", 2, 1, 120) if form == "apng" else files.image(form, 1, 120, 120)

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


HEADS = [
    *sniff_table.BEGINNINGS,
    b"RIFF\xff\xff\x00\x00WEBPVP8X",
    b"RIFF\x10\x00\x00\x00WAVEfmt ",
    b"OggS\x00\x02" + bytes(20) + b"\x01\x1e\x01vorbis",
    b"\xff\xfb\x90\x64",
]


def test_any_bytes_behind_a_good_beginning_do_no_more(tmp_path: Path) -> None:
    @settings(max_examples=200)
    @given(st.sampled_from(HEADS), st.binary(max_size=300))
    def check(head: bytes, rest: bytes) -> None:
        with pytest.raises(GiveUp):
            prove(head + rest, tmp_path, max_pixels=100_000)

    check()


def test_the_same_picture_in_another_size_looks_the_same() -> None:
    for number in range(12):
        first = Image.open(io.BytesIO(drawing.picture(f"a dog {number}", "1")))
        for size in ((1600, 1200), (352, 264), (200, 150)):
            again = io.BytesIO()
            first.resize(size).save(again, "JPEG", quality=40)
            other = Image.open(again)
            assert differing_bits(dhash(first), dhash(other)) <= MediaSettings().near_bits


def test_a_large_jpeg_is_recorded_in_its_own_size_though_it_is_decoded_smaller(
    tmp_path: Path,
) -> None:
    facts = prove(files.image("jpeg", width=1024, height=768), tmp_path, min_side=500)
    assert (facts.width, facts.height) == (1024, 768)
