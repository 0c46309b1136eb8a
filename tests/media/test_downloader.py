"""Whatever a server sends, a file is kept whole with its record, or nothing of it remains."""

from __future__ import annotations

import hashlib
import os
import re
import subprocess
import sys
import time
import tracemalloc
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path
from threading import Event
from typing import Any

import pytest
from PIL import Image

from tests.support.worlds import faults, files
from tests.support.worlds.files import FileServer
from tools.add import Media
from tools.errors import BadStatus, GiveUp, HarvestError, ServerTrouble, StopHarvest, Unavailable
from tools.extend import media_kinds
from tools.media import part as part_module
from tools.media.downloader import Downloader
from tools.media.offer import Candidate
from tools.media.settings import MediaSettings
from tools.network import client as http
from tools.network.client import Client
from tools.network.settings import HttpSettings

MiB = 2**20
SLACK_S = 10.0  # of a busy machine: without a deadline nothing here would ever end
PAGE = b"<!DOCTYPE html><title>Welcome</title><p>Please log in.</p>"


def candidate(url: str, **fields: Any) -> Candidate:
    usual = Candidate(
        url=url,
        page="https://example.org/page",
        license="cc-by-4.0",
        license_url="https://creativecommons.org/licenses/by/4.0/",
        author="Ann",
        title="A dog",
    )
    return usual._replace(**fields)


class World:
    """A server with files, a downloader with small limits of time, and a media folder."""

    def __init__(self, server: FileServer, root: Path) -> None:
        self.server = server
        self.root = root
        root.mkdir()
        self.offer = server.offer
        settings = HttpSettings(limits={}, answer_timeout_s=5.0, tries=2)
        host = f"127.0.0.1:{server.port}"
        self.client = Client(settings, None, Event(), trusted=[host])

    def keep(self, offered: str | Candidate, kind: str = "image", **how: Any) -> Media:
        """`how`: kept, number, folder; the rest are settings."""
        if isinstance(offered, str):
            offered = candidate(offered)
        kept, number = how.pop("kept", ()), how.pop("number", 0)
        folder = how.pop("folder", "en/dog")
        downloader = Downloader(self.client, MediaSettings(**how), media_kinds(sounds=False))
        return downloader.keep(offered, kind, "world", self.root, folder, number, kept)

    def refusal(self, offered: str | Candidate, kind: str = "image", **how: Any) -> str:
        """Why it is given up; nothing of it may remain."""
        with pytest.raises(GiveUp) as caught:
            self.keep(offered, kind, **how)
        assert self.files() == []
        return str(caught.value)

    def files(self) -> list[str]:
        found = (each for each in self.root.rglob("*") if not each.is_dir())
        return sorted(str(each.relative_to(self.root)) for each in found)


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[World]:
    monkeypatch.setattr(http, "FIRST_GAP_S", 0.01)
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", Image.MAX_IMAGE_PIXELS)  # put back afterwards
    with FileServer() as server:
        world = World(server, tmp_path / "m")
        yield world
        world.client.close()


# ---- what is kept


def test_an_image_is_kept_with_its_whole_record(world: World) -> None:
    body = files.image()
    before = datetime.now(UTC).replace(microsecond=0)
    media = world.keep(candidate(world.offer(body, "image/png"), remark="say thanks"), number=7)
    assert media._replace(time=None, phash=None) == Media(
        path="en/dog/image/7.jpg",
        kind="image",
        mime="image/jpeg",
        sha256=hashlib.sha256(body).hexdigest(),
        bytes=len(body),
        width=512,
        height=384,
        duration=None,
        license="cc-by-4.0",
        license_url="https://creativecommons.org/licenses/by/4.0/",
        author="Ann",
        page="https://example.org/page",
        source=world.server.url + "/file/0",
        provider="world",
        title="A dog",
        remark="say thanks",
    )
    assert re.fullmatch("[0-9a-f]{16}", media.phash or "")
    assert before <= datetime.fromisoformat(media.time or "") <= datetime.now(UTC)
    assert (world.root / media.path).read_bytes() == body
    assert world.files() == [media.path]


@pytest.mark.parametrize(
    ("kind", "body", "path", "mime"),
    [
        ("image", files.image("png"), "en/dog/image/0.png", "image/png"),
        ("image", files.image("webp"), "en/dog/image/0.webp", "image/webp"),
        ("visual", files.animation(), "en/dog/visual/0.gif", "image/gif"),
        ("audio", files.sound("wav"), "en/dog/audio/0.wav", "audio/wav"),
        ("audio", files.sound("opus"), "en/dog/audio/0.ogg", "audio/ogg"),
        ("audio", files.sound("mp3"), "en/dog/audio/0.mp3", "audio/mpeg"),
        ("audio", files.sound("flac"), "en/dog/audio/0.flac", "audio/flac"),
    ],
)
def test_name_and_type_follow_from_the_bytes(
    world: World, kind: str, body: bytes, path: str, mime: str
) -> None:
    media = world.keep(world.offer(body, "image/x-anything"), kind)
    assert (media.path, media.mime, media.kind) == (path, mime, kind)
    assert world.files() == [path]


def test_the_source_is_where_the_bytes_came_from(world: World) -> None:
    target = world.offer(files.image())
    media = world.keep(f"{world.server.url}/redirect-to?url={target}")
    assert media.source == target


def test_the_server_is_told_what_is_wanted(world: World) -> None:
    world.keep(world.offer(files.sound("ogg")), "audio")
    assert "audio/ogg" in world.server.requests[0].headers["accept"]


def test_a_folder_for_a_relation_is_a_folder(world: World) -> None:
    folder = "[@r@CapableOf@,@c@en@dog@,@c@en@bark@]"
    media = world.keep(world.offer(files.sound("ogg")), "audio", folder=folder)
    assert media.path == f"{folder}/audio/0.ogg"
    assert world.files() == [media.path]


def test_only_the_owner_may_read_what_is_kept(world: World) -> None:
    media = world.keep(world.offer(files.image()))
    assert (world.root / media.path).stat().st_mode & 0o777 == 0o600


def test_a_file_is_on_the_disk_before_it_has_its_name(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[list[str]] = []
    monkeypatch.setattr("os.fsync", lambda _: seen.append(world.files()))
    world.keep(world.offer(files.image()))
    assert seen == [["en/dog/image/0.part"]]


def test_a_downloader_sets_the_limit_that_holds_while_a_gif_grows(world: World) -> None:
    body = files.gif_of(100, 100, files.GifFrame(), files.GifFrame(0, 0, 300, 300, disposal=2))
    assert world.refusal(world.offer(body), "visual", max_pixels=50_000) == "too many pixels"


def test_a_second_try_starts_the_file_anew(world: World) -> None:
    body = files.image()
    media = world.keep(world.offer(body, only_from_hit=2))
    assert media.sha256 == hashlib.sha256(body).hexdigest()
    assert (world.root / media.path).read_bytes() == body
    assert world.server.hits.total() == 2


def test_threads_share_a_downloader(world: World) -> None:
    bodies = [files.image(seed=seed) for seed in range(4)] + [files.sound("mp3"), files.animation()]
    kinds = ["image"] * 4 + ["audio", "visual"]
    tasks = [(world.offer(body), kind) for body, kind in zip(bodies, kinds, strict=True)]

    def keep(task: tuple[int, tuple[str, str]]) -> Media:
        number, (url, kind) = task
        return world.keep(url, kind, folder=f"en/{number % 3}", number=number)

    with ThreadPoolExecutor(6) as threads:
        media = list(threads.map(keep, enumerate(tasks)))
    assert [each.bytes for each in media] == [len(body) for body in bodies]
    assert world.files() == sorted(each.path for each in media)


# ---- what its headers say


@pytest.mark.parametrize(
    "headers",
    [
        [("X-Robots-Tag", "noai")],
        [("x-robots-tag", "nofollow, NoImageAI")],
        [("X-Robots-Tag", "nofollow"), ("X-Robots-Tag", "noindex")],
        [("X-Robots-Tag", "otherbot: nofollow"), ("X-Robots-Tag", "noml")],
        [("X-Robots-Tag", "*: noimageindex")],
        [("X-Robots-Tag", "sheaf: noai")],
        [("X-Robots-Tag", "otherbot: nofollow, Sheaf: noarchive, noai")],
        [("X-Robots-Tag", "unavailable_after: 25 Jun 2030 15:00:00 PST, noai")],
        [("X-Robots-Tag", "none")],
        [("TDM-Reservation", "1")],
        [("tdm-reservation", " 1 ")],
    ],
)
def test_a_host_may_forbid_use(world: World, headers: list[tuple[str, str]]) -> None:
    reason = world.refusal(world.offer(files.image(), "image/jpeg", *headers))
    assert reason.startswith("its host forbids use (")
    assert not (world.root / "en").exists()


@pytest.mark.parametrize(
    ("headers", "remark"),
    [
        ([("X-Robots-Tag", "nofollow")], "X-Robots-Tag: nofollow"),
        ([("X-Robots-Tag", "otherbot: noai, noindex")], "X-Robots-Tag: otherbot: noai, noindex"),
        ([("X-Robots-Tag", "max-image-preview: large")], "X-Robots-Tag: max-image-preview: large"),
        ([("TDM-Reservation", "0")], None),
        ([("TDM-Policy", "https://x.org/p")], "TDM-Policy: https://x.org/p"),
        ([("X-Robots-Tag", "x" * 999)], "X-Robots-Tag: " + "x" * 186),
    ],
)
def test_what_does_not_forbid_is_on_record(
    world: World, headers: list[tuple[str, str]], remark: str | None
) -> None:
    assert world.keep(world.offer(files.image(), "image/jpeg", *headers)).remark == remark


def test_which_words_forbid_is_a_setting(world: World) -> None:
    url = world.offer(files.image(), "image/jpeg", ("X-Robots-Tag", "noai"))
    assert world.keep(candidate(url, remark="hi"), refuse=()).remark == "hi; X-Robots-Tag: noai"


@pytest.mark.parametrize(
    "mime", ["text/html", "TEXT/HTML; charset=utf-8", "application/json", "text/plain"]
)
def test_text_is_refused_unread(world: World, mime: str) -> None:
    reason = world.refusal(world.offer(files.image(), mime))
    assert reason == f"not an image: {mime.partition(';')[0].lower()}"


def test_too_long_a_body_is_refused_before_it_comes(world: World) -> None:
    url = world.offer(files.image(), sent=0)
    assert world.refusal(url, image_max_bytes=1000) == "too many bytes (more than 1000)"


# ---- what its bytes are


@pytest.mark.parametrize(
    ("kind", "body", "reason"),
    [
        ("image", PAGE, "not an image: HTML"),
        ("image", files.animation(), "not an image: gif"),
        ("image", files.sound("ogg"), "not an image: ogg"),
        ("image", b"<svg/>", "not an image: SVG"),
        ("image", b"\0" * 999, "not an image: bytes of no known format"),
        ("audio", files.image("png"), "not a sound: png"),
        ("audio", files.image() + files.sound("mp3"), "not a sound: jpeg"),
        ("visual", files.animation("webp"), "not a gif: webp"),
        ("visual", files.animation(count=1), "a gif that does not move"),
        ("audio", files.silence("ogg"), "silence"),
        ("image", files.png_bomb(12_000, 12_000), "too many pixels (12000x12000)"),
        ("image", b"", "an empty file"),
    ],
)
def test_lies_are_found_out(world: World, kind: str, body: bytes, reason: str) -> None:
    assert world.refusal(world.offer(body, "image/jpeg"), kind) == reason


GOOD = {
    "jpeg": ("image", files.image("jpeg")),
    "png": ("image", files.image("png")),
    "webp": ("image", files.image("webp")),
    "gif": ("visual", files.animation()),
    "mp3": ("audio", files.sound("mp3", 3.0)),
    "wav": ("audio", files.sound("wav")),
    "ogg": ("audio", files.sound("ogg", 3.0)),
    "flac": ("audio", files.sound("flac")),
}


@pytest.mark.parametrize("name", GOOD)
def test_a_part_is_refused_though_nobody_knows_how_long_it_was(world: World, name: str) -> None:
    kind, body = GOOD[name]
    url = world.offer(body, sent=len(body) * 6 // 10, tells_length=False)
    assert "cut short" in world.refusal(url, kind)


@pytest.mark.parametrize("name", GOOD)
def test_a_part_of_a_known_length_is_asked_for_again(world: World, name: str) -> None:
    kind, body = GOOD[name]
    url = world.offer(body, sent=len(body) * 6 // 10)
    with pytest.raises(ServerTrouble):
        world.keep(url, kind)
    assert world.server.hits.total() == 2
    assert world.files() == []


def test_a_sound_must_last_as_long_as_announced(world: World) -> None:
    url = world.offer(files.sound("mp3"))
    assert world.refusal(candidate(url, duration=1.2), "audio") == "cut short (1.0 of 1.2 s)"
    assert world.keep(candidate(url, duration=1.01), "audio").duration == 1.0


@pytest.mark.parametrize(
    ("announced", "reason"),
    [
        ({"bytes": 5}, "another size than announced"),
        ({"sha1": "0" * 40}, "another file than announced (sha1)"),
        ({"md5": "0" * 32}, "another file than announced (md5)"),
    ],
)
def test_another_file_than_announced_is_refused(
    world: World, announced: dict[str, Any], reason: str
) -> None:
    url = world.offer(files.image())
    assert world.refusal(candidate(url, **announced)).startswith(reason)


def test_the_file_that_was_announced_is_kept(world: World) -> None:
    body = files.image()
    sha1, md5 = hashlib.sha1(body).hexdigest().upper(), hashlib.md5(body).hexdigest()
    offered = candidate(world.offer(body, only_from_hit=2), bytes=len(body), sha1=sha1, md5=md5)
    assert world.keep(offered).bytes == len(body)


# ---- what others have already


def test_the_same_file_is_refused_whatever_its_kind(world: World) -> None:
    url = world.offer(files.image())
    first = world.keep(url, number=3)
    with pytest.raises(GiveUp, match=r"^the same file as image/3$"):
        world.keep(url, number=4, kept=[first])
    with pytest.raises(GiveUp, match=r"^the same file as image/3$"):
        world.keep(url, "audio", kept=[first])
    assert world.files() == [first.path]


def test_nearly_the_same_image_is_refused(world: World) -> None:
    smaller = files.encoded(files.photo().resize((300, 225)), "png")
    first = world.keep(world.offer(files.image()))
    with pytest.raises(GiveUp, match=r"^looks like image/0$"):
        world.keep(world.offer(smaller), number=1, kept=[first])
    assert world.keep(world.offer(files.image(seed=2)), number=1, kept=[first])
    assert world.keep(world.offer(smaller), number=2, kept=[first], near_bits=-1)


def test_kinds_do_not_look_like_each_other(world: World) -> None:
    image = world.keep(world.offer(files.image("png", 1, 200, 150)))
    gif = world.keep(world.offer(files.animation()), "visual", kept=[image])
    with pytest.raises(GiveUp, match=r"^looks like visual/0$"):
        world.keep(world.offer(files.animation(count=2)), "visual", number=1, kept=[image, gif])


# ---- servers that misbehave


def peak_memory(act: Callable[[], object]) -> int:
    tracemalloc.start()
    try:
        act()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_a_body_without_end_is_ended_at_the_limit(world: World) -> None:
    def ask() -> None:
        reason = world.refusal(world.server.url + "/stream", image_max_bytes=20 * MiB)
        assert reason == f"too many bytes (more than {20 * MiB})"

    assert peak_memory(ask) < 2 * MiB


def test_a_gzip_bomb_is_ended_at_the_limit(world: World) -> None:
    url = world.offer(faults.gzip_bomb(), "image/jpeg", ("Content-Encoding", "gzip"))
    peak = peak_memory(lambda: world.refusal(url, image_max_bytes=20 * MiB))
    assert peak < 2 * MiB


@pytest.mark.parametrize("path", ["/dribble", "/hang", "/hang-after-headers"])
def test_a_slow_server_has_until_the_deadline(world: World, path: str) -> None:
    begun = time.monotonic()
    with pytest.raises(ServerTrouble, match="no complete answer in time"):
        world.keep(world.server.url + path, file_timeout_s=0.2)
    assert time.monotonic() - begun < 2 * 0.2 + SLACK_S
    assert world.files() == []


@pytest.mark.parametrize("path", ["/truncated", "/truncated?length=1", "/reset", "/empty", "/ok"])
def test_nothing_remains_of_a_failure(world: World, path: str) -> None:
    with pytest.raises(HarvestError):
        world.keep(world.server.url + path)
    assert world.files() == []


def test_a_missing_file_makes_no_folders(world: World) -> None:
    with pytest.raises(BadStatus):
        world.keep(world.server.url + "/status/404")
    assert list(world.root.iterdir()) == []


# ---- our own disk


def test_links_are_never_followed(world: World, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.write_bytes(b"precious")
    folder = world.root / "en/dog/image"
    folder.mkdir(parents=True)
    for name in ("0.part", "0.jpg"):
        (folder / name).symlink_to(outside)
    media = world.keep(world.offer(files.image()))
    assert outside.read_bytes() == b"precious"
    assert not (world.root / media.path).is_symlink()
    assert world.files() == [media.path]


def test_what_a_crash_left_is_in_nobodys_way(world: World) -> None:
    folder = world.root / "en/dog/image"
    folder.mkdir(parents=True)
    (folder / "0.part").write_bytes(b"half")
    (folder / "0.jpg").write_bytes(b"forgotten by the graph")
    media = world.keep(world.offer(files.image()))
    assert (world.root / media.path).read_bytes() == files.image()
    assert world.files() == [media.path]


@pytest.mark.parametrize("folder", ["../../etc", "/etc", "en/../..", "", "en//dog", "en/\0"])
def test_no_folder_leads_outside(world: World, folder: str) -> None:
    url = world.offer(files.image())
    assert world.refusal(url, folder=folder).startswith("no folder for media: ")
    assert world.server.hits.total() == 0


def test_too_long_a_name_is_the_end_of_one_owner_only(world: World) -> None:
    url = world.offer(files.image())
    assert world.refusal(url, folder="x" * 300) == "its folder would have too long a name"


def test_a_folder_that_cannot_be_written_ends_the_harvest(world: World) -> None:
    world.root.rmdir()
    world.root.write_text("a file where the folder should be")
    with pytest.raises(StopHarvest, match=r"the media folder .*/m cannot be written \(Not a dir"):
        world.keep(world.offer(files.image()))


def test_a_folder_in_the_place_of_a_file_ends_the_harvest(world: World) -> None:
    (world.root / "en/dog/image/0.jpg").mkdir(parents=True)
    with pytest.raises(StopHarvest, match=r"cannot be written \(Is a directory\)"):
        world.keep(world.offer(files.image()))
    assert world.files() == []


FULL = """
import resource, signal, sys
from pathlib import Path
from threading import Event
from tools.extend import media_kinds
from tools.media.downloader import Downloader
from tools.network.client import Client
from tools.media.offer import Candidate
from tools.media.settings import MediaSettings
from tools.network.settings import HttpSettings
url, host, root, after = sys.argv[1:]
client = Client(HttpSettings(), None, Event(), trusted=[host])
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (int(after), int(after)))
try:
    offered = Candidate(url, "page", "cc0-1.0", None, "Ann")
    Downloader(client, MediaSettings(), media_kinds(sounds=False)).keep(
        offered, "image", "world", Path(root), "en/dog", 0, ()
    )
except BaseException as error:
    print(type(error).__name__, error)
"""


@pytest.mark.parametrize("after", [0, 1000])
def test_a_full_disk_ends_the_harvest_and_leaves_nothing(world: World, after: int) -> None:
    """A limit on the length of files stands for it: the same call fails."""
    host = f"127.0.0.1:{world.server.port}"
    arguments = [world.offer(files.image()), host, str(world.root), str(after)]
    command = [sys.executable, "-c", FULL, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=30)
    assert done.stdout.startswith(f"StopHarvest the media folder {world.root} cannot be written (")
    assert done.stderr == ""
    assert world.files() == []
    assert world.server.hits.total() == 1


def open_files() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


def test_refusing_and_keeping_leaves_no_file_open(world: World) -> None:
    bad, good = world.offer(files.image()[:5000], tells_length=False), world.offer(files.image())
    world.keep(good)
    before = open_files()
    for number in range(1, 21):
        with pytest.raises(GiveUp):
            world.keep(bad, number=number)
        world.keep(good, number=number)
    assert open_files() <= before + 2  # connections to the server


def test_a_host_that_sends_no_file_at_all_is_left_alone(world: World) -> None:
    """Its files are waited for: no attempt is spent, and nobody knocks meanwhile."""
    downloader = Downloader(world.client, MediaSettings(rest_s=300.0), media_kinds(sounds=False))

    def keep(path: str) -> Media:
        offered = candidate(f"{world.server.url}{path}")
        return downloader.keep(offered, "image", "world", world.root, "en/dog", 0, ())

    for number in range(2):
        with pytest.raises(ServerTrouble):
            keep(f"/status/503?{number}")
    with pytest.raises(Unavailable) as caught:
        keep("/status/503?2")
    assert 0.9 * 299 < (caught.value.delay or 0) <= 1.1 * 300, "spread at random"
    asked = len(world.server.requests)
    with pytest.raises(Unavailable):
        keep("/status/503?3")
    assert len(world.server.requests) == asked


def test_a_folder_that_is_cleared_away_at_once_is_made_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Empty folders are removed when media are shipped, perhaps in this very moment."""
    real = os.mkdir
    made: list[str] = []

    def mkdir(path: str) -> None:
        real(path)
        made.append(path)
        if len(made) < 4:
            Path(path).rmdir()

    monkeypatch.setattr(os, "mkdir", mkdir)
    with part_module._created(str(tmp_path), "en/dog/0.part") as file:
        assert file.read() == b""
    assert len(made) > 3


def test_a_media_folder_that_is_gone_is_not_made_anew(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        part_module._created(str(tmp_path / "m"), "en/dog/0.part")
    assert list(tmp_path.iterdir()) == []
