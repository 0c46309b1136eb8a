"""Contact sheets: what a browser shows of them, and that nothing else happens."""

from __future__ import annotations

import importlib
import io
import os
import re
import struct
import subprocess
import sys
import warnings
import zlib
from base64 import b64decode
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

import numpy
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image, ImageOps

from tests.support.browser import Browser, browser
from tests.support.command import ROOT
from tests.support.contrast import colour_of, contrast, luminance
from tools.add import Media, Relation
from tools.errors import StopHarvest, UsageError
from tools.graphs.reader import Reader
from tools.graphs.sqlite import SqliteGraph
from tools.graphs.sqlite_reader import SqliteReader
from tools.sheets import album as album_module
from tools.sheets import write as sheet_module
from tools.sheets.album import Album, NotShown, Stills, smaller
from tools.sheets.document import document
from tools.sheets.environment import environment
from tools.sheets.outward import leads_outward
from tools.sheets.write import around, index, page_name, sheet
from tools.uri import assertion, is_concept

soundfile: Any = importlib.import_module("soundfile")  # has no types

DOG, BARK, ODD = "/c/en/dog", "/c/en/bark", "/c/en/<script>flag=1</script>"
BLUE = (12, 120, 200)
SECONDS = 0.5
SOUNDS = {"ogg": "audio/ogg", "wav": "audio/wav", "mp3": "audio/mpeg", "flac": "audio/flac"}
HOSTILE = (
    "<script>flag=1</script>",
    '"><img src=x onerror=flag=1>',
    "'><svg onload=flag=1>",
    "<iframe src=https://example.org></iframe>",
    "</style></title><script>flag=1</script>",
    "\u202egnp.exe\x00\x1b[31m",
    "W" * 5000,
)
ABSENT = "The file is not on this computer."


def media(path: str, kind: str = "image", mime: str = "image/png", **more: Any) -> Media:
    record = Media(
        path=path,
        kind=kind,
        mime=mime,
        sha256="00" * 32,
        bytes=1,
        width=None,
        height=None,
        duration=None,
        license="cc-by-4.0",
        license_url="https://creativecommons.org/licenses/by/4.0/",
        author="Ada",
        page="https://example.org/page",
        source=None,
        provider="commons",
        title=f"title of {path}",
    )
    return record._replace(**more)


def relation(type_: str, start: str, end: str, weight: float, text: str | None = None) -> Relation:
    uri = assertion(f"/r/{type_}", start, end)
    return Relation(uri, type_, start, end, weight, text, "cc:by/4.0", "/d/test")


def draw(place: Path, size: tuple[int, int] = (200, 100), colour: Any = BLUE) -> None:
    place.parent.mkdir(parents=True, exist_ok=True)
    Image.new("RGB", size, colour).save(place)


def draw_gif(place: Path) -> None:
    place.parent.mkdir(parents=True, exist_ok=True)
    first, *rest = (Image.new("RGB", (120, 90), colour) for colour in ("red", "lime", "blue"))
    first.save(place, save_all=True, append_images=rest, duration=100, loop=0)


def hum(place: Path) -> None:
    place.parent.mkdir(parents=True, exist_ok=True)
    wave = numpy.sin(numpy.arange(int(22050 * SECONDS)) / 8) / 4
    soundfile.write(place, wave, 22050)


class World(NamedTuple):
    graph: Reader
    media: Path
    folder: Path

    def page(self, concept: str) -> Path:
        return self.folder / page_name(concept)

    @property
    def front(self) -> Path:
        return self.folder / "index.html"


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """Pages of three concepts: with everything, with little, with what an enemy would send."""
    root = tmp_path_factory.mktemp("sheet")
    with closing(SqliteGraph(root / "graph.db")) as graph:
        barks = relation("CapableOf", DOG, BARK, 2.0, "[[a dog]] can [[bark]]")
        others = [relation("IsA", DOG, f"/c/en/animal_{each}", 1 + each / 10) for each in range(30)]
        odd = [relation("HasA", ODD, DOG, 1.0, f"[[{text}]] {text}") for text in HOSTILE[:1]]
        graph.write([], [barks, *others, *odd])
        graph.attach({DOG: dog_media(root / "m"), barks.uri: bark_media(root / "m")})
        graph.attach({ODD: odd_media(root / "m")})
    with closing(SqliteReader(root / "graph.db")) as reader:
        made = World(reader, root / "m", root / "pages")
        index(reader, made.media, [DOG, BARK, ODD], made.folder, seeds=[DOG])
        yield made


def dog_media(root: Path) -> list[Media]:
    draw(root / "en/dog/image/0.png")
    draw(root / "en/dog/image/1.jpg", (90, 300), "green")
    draw_gif(root / "en/dog/visual/0.gif")
    for extension in SOUNDS:
        hum(root / f"en/dog/audio/0.{extension}")
    return [
        media("en/dog/image/0.png"),
        media("en/dog/image/1.jpg", mime="image/jpeg"),
        media("en/dog/image/2.jpg", mime="image/jpeg", title="a shipped one"),
        media("en/dog/visual/0.gif", "visual", "image/gif"),
        *(media(f"en/dog/audio/0.{each}", "audio", mime) for each, mime in SOUNDS.items()),
    ]


def bark_media(root: Path) -> list[Media]:
    draw(root / "bark/image/0.png", (300, 200), "gold")
    hum(root / "bark/audio/0.ogg")
    return [media("bark/image/0.png"), media("bark/audio/0.ogg", "audio", "audio/ogg")]


def odd_media(root: Path) -> list[Media]:
    fields = ("title", "author", "provider", "license", "remark")
    files = [
        media(f"odd/{number}.png", **dict.fromkeys(fields, text))
        for number, text in enumerate(HOSTILE)
    ]
    for each in files:
        draw(root / each.path)
    links = ("javascript:flag=1", "data:text/html,<script>flag=1</script>", "//example.org", "x")
    return files + [
        media(f"odd/{number}{text}", page=link, license_url=link)
        for number, (link, text) in enumerate(zip(links, HOSTILE, strict=False))
    ]


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    with browser() as started:
        yield started


# --- what is seen ------------------------------------------------------------------------------


def test_every_picture_and_every_gif_is_drawn(world: World, chromium: Browser) -> None:
    chromium.open(world.page(DOG))
    images = "[...document.images].map(each => [each.complete, each.naturalWidth, each.alt])"
    assert chromium.value(images) == [
        [True, 200, "title of en/dog/image/0.png"],
        [True, 90, "title of en/dog/image/1.jpg"],
        [True, 120, "title of en/dog/visual/0.gif"],
        [True, 300, "title of bark/image/0.png"],
        [True, 96, ""],  # of a neighbour that has a page
    ]
    assert chromium.complaints() == chromium.requests() == []


def test_every_sound_can_be_played(world: World, chromium: Browser) -> None:
    chromium.open(world.page(DOG))
    durations = chromium.value("""Promise.all([...document.querySelectorAll('audio')].map(
        each => new Promise(settle => {
            if (each.readyState > 0 || each.error) return settle(each.duration);
            each.onloadedmetadata = () => settle(each.duration);
            each.onerror = () => settle(each.error.message);
        })))""")
    assert durations == [pytest.approx(SECONDS, abs=0.1)] * (len(SOUNDS) + 1)


@pytest.mark.parametrize("dark", [False, True])
def test_pictures_have_their_own_colours_and_shape(
    world: World, chromium: Browser, dark: bool
) -> None:
    chromium.open(world.page(DOG), dark=dark)
    seen = chromium.picture()
    x, y, width, height = chromium.value(
        "(box => [box.x, box.y, box.width, box.height])(document.images[0].getBoundingClientRect())"
    )
    assert width / height == pytest.approx(4 / 3, abs=0.02)
    assert seen.getpixel((int(x + width / 2), int(y + height / 2))) == BLUE
    # Twice as wide as high, and not stretched: above it there is room.
    assert seen.getpixel((int(x + width / 2), int(y + height / 2 - width / 4 + 4))) == BLUE
    assert seen.getpixel((int(x + width / 2), int(y + height / 2 - width / 4 - 4))) != BLUE


@pytest.mark.parametrize("width", [400, 1280])
def test_nothing_is_wider_than_the_window(world: World, chromium: Browser, width: int) -> None:
    for page in (world.page(DOG), world.page(BARK), world.page(ODD), world.front):
        chromium.open(page, width)
        chromium.value("document.querySelectorAll('details').forEach(each => each.open = true)")
        assert chromium.value("document.documentElement.scrollWidth") <= width
        outside = f"""[...document.querySelectorAll('body *')].filter(
            each => each.getBoundingClientRect().right > {width} + 1).length"""
        assert chromium.value(outside) == 0


@pytest.mark.parametrize("dark", [False, True])
def test_texts_stand_out_from_their_ground(world: World, chromium: Browser, dark: bool) -> None:
    chromium.open(world.page(DOG), dark=dark)
    pairs = {"body": "body", "figcaption": "figure", "figcaption a": "figure", "mark": "mark"}
    for text, ground in (pairs | {".chips li": ".chips li", ".absent": ".absent"}).items():
        style = "getComputedStyle(document.querySelector('%s')).%s"
        colours = [
            colour_of(chromium.value(style % (text, "color"))),
            colour_of(chromium.value(style % (ground, "backgroundColor"))),
        ]
        assert contrast(*colours) >= 4.5, (text, colours)
    ground_of_all = colour_of(chromium.value(style % ("body", "backgroundColor")))
    assert luminance(ground_of_all) < 0.1 or not dark


def test_every_file_has_its_credit_under_it(world: World, chromium: Browser) -> None:
    chromium.open(world.page(DOG))
    captions = chromium.value("[...document.querySelectorAll('figcaption')].map(e => e.innerText)")
    assert len(captions) == len(dog_media(world.media)) + 2
    assert captions[0] == "title of en/dog/image/0.png\nby Ada\nCC BY 4.0 · commons"
    links = "[...document.querySelectorAll('figcaption')[0].querySelectorAll('a')].map(e => %s)"
    assert chromium.value(links % "[e.href, e.rel]") == [
        ["https://example.org/page", "noopener noreferrer"],
        ["https://creativecommons.org/licenses/by/4.0/", "noopener noreferrer"],
    ]


def test_a_file_that_is_gone_leaves_its_place_and_its_credit(
    world: World, chromium: Browser
) -> None:
    chromium.open(world.page(DOG))
    gone = chromium.value("document.querySelector('.absent').parentElement.innerText")
    assert re.split("\n+", gone) == [ABSENT, "a shipped one", "by Ada", "CC BY 4.0 · commons"]


def test_relations_stand_by_type_and_the_heaviest_comes_first(
    world: World, chromium: Browser
) -> None:
    chromium.open(world.page(DOG))
    titles = chromium.value("[...document.querySelectorAll('h2')].map(each => each.innerText)")
    kinds = ["Pictures", "Moving pictures", "Sounds"]
    groups = ["dog is a kind of … 30", "dog is capable of … 1", "… has dog 1"]
    assert titles == [*kinds, *groups]
    weights = chromium.value("[...document.querySelectorAll('.weight')].map(e => +e.innerText)")
    assert weights[:18] == sorted(weights[:18], reverse=True)
    assert weights[0] == 3.9
    assert chromium.value("document.querySelector('summary').innerText") == "12 more"
    sentence = "document.querySelector('.wide .surface')"
    assert chromium.value(f"{sentence}.innerText") == "a dog can bark"
    marked = chromium.value(f"[...{sentence}.querySelectorAll('mark')].map(e => e.innerText)")
    assert marked == ["a dog", "bark"]


# --- from page to page -------------------------------------------------------------------------


def test_a_card_leads_to_its_page_and_on_and_back(world: World, chromium: Browser) -> None:
    chromium.open(world.front)
    chromium.click(".card")
    assert chromium.value("document.querySelector('h1').innerText") == "dog"
    chromium.click(".wide .triple a")
    assert chromium.value("document.querySelector('h1').innerText") == "bark"
    chromium.click("nav a")
    assert chromium.value("document.querySelectorAll('.card').length") == 3


def test_cards_tell_what_there_is_and_are_of_one_height(world: World, chromium: Browser) -> None:
    chromium.open(world.front)
    cards = "[...document.querySelectorAll('.card')].map(each => %s)"
    assert chromium.value(cards % "each.innerText.split('\\n')")[:2] == [
        ["dog", "seed", "3 pictures", "1 gif", "4 sounds", "32 relations"],
        ["B", "bark", "1 relation"],
    ]
    assert len(set(chromium.value(cards % "each.offsetHeight"))) == 1
    assert chromium.value("document.images[0].naturalWidth") == 200
    total = chromium.value("document.querySelector('header').innerText").split("\n")
    assert [each for each in total if each] == [
        "3 concepts",
        f"{3 + len(odd_media(world.media))} pictures",
        "1 gif",
        "4 sounds",
        "32 relations",  # all of them begin or end at the dog
    ]


# --- what must not happen ----------------------------------------------------------------------


def test_what_an_enemy_writes_is_shown_as_text(world: World, chromium: Browser) -> None:
    for page in (world.page(ODD), world.front, world.page(DOG)):
        chromium.open(page)
        assert chromium.value("typeof flag") == "undefined"
        assert chromium.complaints() == chromium.requests() == []
        alive = "document.querySelectorAll('script, iframe, svg, [onerror], [onload]').length"
        assert chromium.value(alive) == 0
    chromium.open(world.page(ODD))
    text = chromium.value("document.body.innerText")
    assert all(each in text for each in HOSTILE[:5])
    assert "\u202e" not in text and "W" * 201 not in text
    links = set(chromium.value("[...document.links].map(each => each.protocol)"))
    assert links == {"https:", "file:"}  # our own pages are files


def test_the_policy_forbids_what_slips_through(tmp_path: Path, chromium: Browser) -> None:
    page = tmp_path / "page.html"
    enemy = environment().from_string("<script>flag=1</script><img src='https://127.0.0.1:1/x'>")
    page.write_text("".join(document(enemy, "")), encoding="utf-8")
    chromium.open(page)
    assert chromium.value("typeof flag") == "undefined"
    assert len(chromium.value("violations")) == 2
    assert chromium.complaints()


@pytest.mark.parametrize(
    "path",
    [
        *("../secret.png", "{root}/secret.png", "folder/../../secret.png"),
        *("link.png", "way/secret.png"),
        *("pipe", "folder", "", "a\0b", "n" * 5000),
    ],
)
def test_no_file_outside_of_the_media_folder_is_read(path: str, tmp_path: Path) -> None:
    root = tmp_path / "m"
    (root / "folder").mkdir(parents=True)
    draw(tmp_path / "secret.png")
    (root / "link.png").symlink_to(tmp_path / "secret.png")
    (root / "way").symlink_to(tmp_path)
    os.mkfifo(root / "pipe")
    with pytest.raises(NotShown):
        Album(root).data(media(path.format(root=tmp_path)), 1280)


def test_a_media_folder_behind_a_link_is_read(tmp_path: Path) -> None:
    draw(tmp_path / "disk/0.png")
    (tmp_path / "m").symlink_to(tmp_path / "disk")
    embedded = Album(tmp_path / "m").data(media("0.png"), 1280)
    assert content_of(embedded) == ("image/png", (tmp_path / "disk/0.png").read_bytes())


@pytest.mark.parametrize(
    ("kind", "mime"),
    [
        *(("image", "text/html"), ("image", "image/svg+xml"), ("image", "audio/ogg")),
        *(("audio", 'audio/ogg"><script>'), ("visual", "video/mp4"), ("x", "image/png")),
    ],
)
def test_only_types_of_our_own_list_are_named(kind: str, mime: str, tmp_path: Path) -> None:
    draw(tmp_path / "0.png")
    with pytest.raises(NotShown, match="this type"):
        Album(tmp_path).data(media("0.png", kind, mime), 1280)


# --- how much of it ----------------------------------------------------------------------------


def test_a_page_holds_no_more_than_its_budget_and_says_so(tmp_path: Path) -> None:
    for name, size in (("0.gif", 600), ("1.gif", 600), ("2.gif", 400), ("3.gif", 1)):
        (tmp_path / name).write_bytes(bytes(size))
    album = Album(tmp_path, budget=1000)
    seen = [shown(album, media(f"{each}.gif", "visual", "image/gif")) for each in range(4)]
    assert seen == [600, "This page is full: it holds 0 MB of media.", 400, seen[1]]


def shown(album: Album, file: Media) -> int | str:
    try:
        return len(content_of(album.data(file, 320))[1])
    except NotShown as error:
        return str(error)


def content_of(address: str) -> tuple[str, bytes]:
    head, _, content = address.partition(";base64,")
    return head.removeprefix("data:"), b64decode(content, validate=True)


def test_a_large_picture_is_made_smaller_and_upright(tmp_path: Path) -> None:
    noise = numpy.random.default_rng(1).integers(0, 255, (900, 1800, 3), dtype=numpy.uint8)
    exif = Image.Exif()
    exif[0x0112] = 6  # lies on its side
    Image.fromarray(noise).save(tmp_path / "0.jpg", exif=exif, quality=95)
    mime, content = content_of(Album(tmp_path).data(media("0.jpg", mime="image/jpeg"), 1280))
    with Image.open(io.BytesIO(content)) as image:
        assert (mime, image.format, image.size) == ("image/webp", "WEBP", (640, 1280))


GREEN = (20, 160, 60, 255)
MODES: list[tuple[str, dict[str, Any]]] = [
    *((mode, {}) for mode in ("RGB", "RGBA", "P", "L", "LA", "1", "CMYK")),
    ("RGB", {"transparency": GREEN[:3]}),
]


def half_clear() -> Image.Image:
    """No two of its corners are alike, and one is of fine stripes."""
    picture = Image.new("RGBA", (640, 420), (250, 240, 90, 255))
    for x in range(0, 320, 8):
        picture.paste(GREEN, (x, 0, x + 4, 140))
    picture.paste((200, 30, 40, 120), (0, 140, 210, 420))
    picture.paste((0, 0, 0, 0), (500, 300, 640, 420))
    return picture


@pytest.mark.parametrize(("mode", "more"), MODES)
@pytest.mark.parametrize("side_up", range(1, 9))
def test_a_smaller_picture_looks_as_the_large_one(
    mode: str, more: dict[str, Any], side_up: int
) -> None:
    """As if all its pixels had been turned and given their colours first."""
    exif, written, expected = Image.Exif(), io.BytesIO(), io.BytesIO()
    exif[0x0112] = side_up
    kind = "JPEG" if mode == "CMYK" else "PNG"
    half_clear().convert(mode).save(written, kind, exif=exif, **more)
    with Image.open(written) as image:
        clear = "RGBA" if image.has_transparency_data else "RGB"
        turned = ImageOps.exif_transpose(image).convert(clear)
    turned.thumbnail((90, 90))
    turned.save(expected, "WEBP", quality=80, method=2)
    with (
        Image.open(io.BytesIO(smaller(written.getvalue(), 90))) as one,
        Image.open(expected) as two,
    ):
        assert (one.size, one.mode) == (two.size, two.mode)
        shown = [numpy.asarray(each.convert("RGBa"), int) for each in (one, two)]
    assert abs(shown[0] - shown[1]).mean() < 4  # of 255; stripes torn apart are nine


def test_a_smaller_picture_takes_little_more_memory_than_its_pixels(tmp_path: Path) -> None:
    """Of 16 million pixels at four bytes: as the system counts them, in a process of its own."""
    Image.new("RGB", (4000, 4000)).save(tmp_path / "0.png")
    program = """if True:
        import sys
        from pathlib import Path
        from tools.sheets.album import smaller
        smaller(Path(sys.argv[1]).read_bytes(), 320)
        print(Path("/proc/self/status").read_text())
    """
    command = [sys.executable, "-c", program, str(tmp_path / "0.png")]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60)
    [most_kb] = re.findall(r"VmHWM:\s+(\d+) kB", done.stdout)
    assert int(most_kb) < 120_000


LONG, ASCII = 4, 2  # types of EXIF


@pytest.mark.parametrize(
    ("tag", "type_", "count", "value"),
    [(273, LONG, 1, b"\xff" * 4), (256, 9, 1, b"\xfb\xff\xff\xff"), (34377, ASCII, 3, b"ab\0\0")],
)
def test_a_picture_with_odd_exif_costs_only_itself(
    tag: int, type_: int, count: int, value: bytes, tmp_path: Path
) -> None:
    """It lies on its side, so that Pillow writes the others of its tags anew, and fails."""
    tags = sorted([(0x0112, 3, 1, b"\x03\0\0\0"), (tag, type_, count, value)])
    entries = b"".join(struct.pack("<HHL", *each[:3]) + each[3] for each in tags)
    exif = b"Exif\0\0II*\0" + struct.pack("<LH", 8, len(tags)) + entries + bytes(4)
    Image.new("RGB", (90, 60)).save(tmp_path / "0.png", exif=exif)
    with pytest.raises(NotShown, match="cannot be read"):
        Album(tmp_path).still(media("0.png"), 80)


def test_a_small_picture_is_made_once_for_all_pages(tmp_path: Path) -> None:
    draw_gif(tmp_path / "0.gif")
    gif, made = media("0.gif", "visual", "image/gif"), Stills()
    still = Album(tmp_path, stills=made).still(gif, 90)
    (tmp_path / "0.gif").unlink()
    assert Album(tmp_path, stills=made).still(gif, 90) == still
    with pytest.raises(NotShown, match="is full"):
        Album(tmp_path, budget=10, stills=made).still(gif, 90)


def test_only_a_picture_that_stands_still_is_taken_as_it_is(tmp_path: Path) -> None:
    for name in ("0.jpg", "1.png"):
        draw(tmp_path / name)
    album = Album(tmp_path)
    seen = [content_of(album.still(media("0.jpg", mime="image/jpeg"), 90))]
    seen.append(content_of(album.still(media("1.png"), 90)))
    assert seen[0] == ("image/jpeg", (tmp_path / "0.jpg").read_bytes())
    assert seen[1][0] == "image/webp"


def test_who_writes_no_page_takes_neither_templates_nor_pictures() -> None:
    modules = "tools.commands.sheet, tools.jobs.conceptnet_results, tools.jobs.pages_results"
    program = f"import sys, {modules}; print({{'jinja2', 'PIL'}} & set(sys.modules))"
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60)
    assert (done.stdout, done.stderr) == ("set()\n", "")


def test_what_is_clear_stays_clear_in_a_smaller_picture() -> None:
    written = io.BytesIO()
    Image.new("RGBA", (900, 900), (255, 0, 0, 0)).save(written, "PNG")
    with Image.open(io.BytesIO(smaller(written.getvalue(), 90))) as image:
        assert image.convert("RGBA").getpixel((45, 45))[3] == 0  # type: ignore[index]


def chunk(name: bytes, content: bytes) -> bytes:
    check = zlib.crc32(name + content)
    return struct.pack(">I", len(content)) + name + content + struct.pack(">I", check)


@pytest.mark.parametrize("side", [10_000, 60_000])
def test_a_picture_that_would_fill_the_memory_is_not_opened(side: int) -> None:
    header = chunk(b"IHDR", struct.pack(">IIBBBBB", side, side, 8, 2, 0, 0, 0))
    with pytest.raises(NotShown, match="cannot be read"):
        smaller(b"\x89PNG\r\n\x1a\n" + header + chunk(b"IDAT", bytes(99)), 320)


def test_pixels_are_counted_without_a_word_to_the_whole_process(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Filters of warnings are those of every thread; and others may set Pillow's own bound."""
    pictures = {}
    for size in ((9, 11), (10, 10)):
        for kind in ("PNG", "JPEG"):
            written = io.BytesIO()
            Image.new("RGB", size).save(written, kind)
            pictures[size, kind] = written.getvalue()
    with monkeypatch.context() as only_here:
        only_here.setattr(warnings, "catch_warnings", None)
        only_here.setattr(Image, "MAX_IMAGE_PIXELS", None)
        only_here.setattr(album_module, "MOST_PIXELS", 99)
        for (size, _), content in pictures.items():
            if size == (9, 11):
                assert smaller(content, 4)
            else:
                with pytest.raises(NotShown, match="cannot be read"):
                    smaller(content, 4)


def test_of_many_relations_those_with_files_are_seen_and_the_lightest_left_out(
    tmp_path: Path, chromium: Browser
) -> None:
    many = [relation("IsA", DOG, f"/c/en/x{each}", 1 + each / 1000) for each in range(500)]
    draw(tmp_path / "0.png")
    with closing(SqliteGraph(tmp_path / "graph.db")) as graph:
        graph.write([], many)
        graph.attach({many[0].uri: [media("0.png")]})
    with closing(SqliteReader(tmp_path / "graph.db")) as reader:
        chromium.open(sheet(reader, tmp_path, DOG, tmp_path))
    assert chromium.value("document.querySelectorAll('section > ul > li').length") == 19
    assert chromium.value("document.querySelector('.wide').innerText").startswith("x0")
    folded = " ".join(chromium.value("document.querySelector('details').textContent").split())
    assert folded.startswith("300 more x481 1.48 x480")
    assert folded.endswith("181 lighter ones are left out.")


# --- files -------------------------------------------------------------------------------------


def test_a_page_is_one_file_and_nothing_is_left_beside_it(world: World, tmp_path: Path) -> None:
    page = sheet(world.graph, world.media, DOG, tmp_path / "new/folder")
    assert page.name == "en.dog.html"
    assert list(page.parent.iterdir()) == [page]
    assert "All concepts" not in page.read_text(encoding="utf-8")  # there is no index
    assert "bark</a>" not in page.read_text(encoding="utf-8")  # nor another page


def test_a_page_that_cannot_be_finished_leaves_the_old_one(
    world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object, **values: object) -> Iterator[str]:
        yield "half a page"
        raise OSError(28, "No space left on device")

    page = sheet(world.graph, world.media, BARK, tmp_path)
    before = page.read_bytes()
    monkeypatch.setattr(sheet_module, "document", broken)
    with pytest.raises(StopHarvest, match="cannot be written: No space left on device"):
        sheet(world.graph, world.media, BARK, tmp_path)
    assert page.read_bytes() == before
    assert list(tmp_path.iterdir()) == [page]


def test_a_folder_that_cannot_be_written_is_named(world: World, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(StopHarvest, match="file cannot be written"):
        sheet(world.graph, world.media, DOG, tmp_path / "file")


@pytest.mark.parametrize("concept", ["/c/en/unheard_of", "dog", "/r/IsA", "", "/c/en/"])
def test_a_concept_that_is_not_there_is_told_in_one_sentence(
    concept: str, world: World, tmp_path: Path
) -> None:
    with pytest.raises(UsageError, match="is not"):
        sheet(world.graph, world.media, concept, tmp_path / "pages")
    with pytest.raises(UsageError, match="is not"):
        index(world.graph, world.media, [DOG, concept], tmp_path / "pages")
    assert not (tmp_path / "pages").exists()


def test_progress_is_told_for_every_page(world: World, tmp_path: Path) -> None:
    told: list[int] = []
    index(world.graph, world.media, [DOG, BARK, DOG], tmp_path, told.append)
    assert told == [1, 1]


def test_the_seeds_come_first_then_their_neighbours_that_have_media(world: World) -> None:
    assert around(world.graph, ["/c/en/animal_1", DOG], 6) == [DOG, ODD]
    assert around(world.graph, [DOG, ODD], 1) == [DOG, ODD]
    assert around(world.graph, ["/c/en/xyzzy"], 6) == []


@pytest.mark.parametrize(
    "address",
    [
        "http://127.0.0.1:4711/wiki/File:Dog.jpg",
        "http://LOCALHOST/x",
        "https://[::1]:80",
        "http://somebody@127.1/",
        *("http://0.0.0.0:80/", "http://0/", "https://sample.localhost?x", "http://127.0.0.1#x"),
        *("http://[::ffff:127.0.0.1]/", "http://localhost./", "http://a:b@[::]:1", "http://127.1"),
    ],
)
def test_a_page_does_not_lead_to_servers_of_this_computer(address: str) -> None:
    assert not leads_outward(address)


@pytest.mark.parametrize("host", ["localhost.example.org", "127.0.0.1.example.org", "example.org"])
def test_a_page_leads_to_pages_elsewhere(host: str) -> None:
    assert leads_outward(f"http://{host}/127.0.0.1")


PIECES = st.text(
    st.characters(exclude_categories=("Cs", "Zs", "Zl", "Zp", "Cc"), exclude_characters="/"),
    min_size=1,
    max_size=200,
) | st.sampled_from(["dog", "Dog", "dog_n", "d.o.g", "dog~", "DOG", "n", "dog-n", "löffel", "CON"])
CONCEPTS = st.lists(PIECES, min_size=1, max_size=3).map(lambda each: "/c/en/" + "/".join(each))


@given(CONCEPTS.filter(is_concept), CONCEPTS.filter(is_concept))
def test_each_concept_has_a_safe_file_name_of_its_own(one: str, other: str) -> None:
    assert re.fullmatch(r"en\.[a-z0-9_.~-]{1,100}\.html", page_name(one))
    assert (page_name(one) == page_name(other)) == (one == other)
