"""A large file arrives whole and right, however badly it is sent."""

from __future__ import annotations

import gzip
import hashlib
import random
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from shutil import disk_usage
from threading import Event

import pytest

from tests.support.command import run, says, start
from tests.support.ports import closed_port
from tests.support.worlds.dumps import DumpServer, Turn
from tools.errors import AlreadyRunning, Fatal, HarvestError, StopHarvest, Unreachable, UsageError
from tools.network import large_file as remote
from tools.network import resume as part
from tools.network.client import Client
from tools.network.guard import host_of
from tools.network.large_file import DUMP, Remote
from tools.network.settings import HttpSettings

BODY = random.Random(1).randbytes(300_000)
OTHER = random.Random(2).randbytes(300_000)
TRIES = 3


@pytest.fixture(autouse=True)
def no_gaps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(remote, "FIRST_GAP_S", 0.001)
    monkeypatch.setattr(remote, "STAMINA", TRIES)


@pytest.fixture
def server() -> Iterator[DumpServer]:
    with DumpServer(BODY) as server:
        yield server


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "dump.csv.gz"


def sha256(body: bytes) -> str:
    return hashlib.sha256(body).hexdigest()


def fetch(
    url: str, path: Path, body: bytes = BODY, size: int | None = None, silence: float = 5.0
) -> list[tuple[int, int]]:
    """What the bar was told."""
    shown: list[tuple[int, int]] = []
    settings = HttpSettings(tries=TRIES, answer_timeout_s=silence, limits={})
    with closing(Client(settings, None, Event(), trusted=[host_of(url)])) as client:
        file = Remote(url, sha256(body), size)
        remote.fetch(
            file, path, client, settings, lambda *each: shown.append(each), lambda *_: None
        )
    return shown


def is_alone(path: Path, body: bytes = BODY) -> bool:
    """Is it there, and nothing beside it?"""
    return path.read_bytes() == body and list(path.parent.iterdir()) == [path]


def left_behind(path: Path) -> int:
    """The bytes an unfinished download has kept."""
    assert not path.exists()
    return path.with_name(path.name + ".part").stat().st_size


# --- it arrives ------------------------------------------------------------------------------


def test_a_file_arrives_whole(server: DumpServer, path: Path) -> None:
    shown = fetch(server.file, path, size=len(BODY))
    assert is_alone(path)
    assert shown[-1] == (len(BODY), len(BODY))
    assert shown == sorted(shown)


def test_a_file_that_is_cut_off_again_and_again_is_continued(
    server: DumpServer, path: Path
) -> None:
    server.turns = [Turn(sent=100_000), Turn(sent=1), Turn(sent=150_000), Turn(sent=0)]
    fetch(server.file, path)
    assert is_alone(path)
    assert server.ranges == [
        "",
        "bytes=100000-",
        "bytes=100001-",
        "bytes=250001-",
        "bytes=250001-",
    ]


def test_a_server_that_always_cuts_off_is_followed_to_the_end(
    server: DumpServer, path: Path
) -> None:
    server.turns = [Turn(sent=30_000)] * 9
    fetch(server.file, path)
    assert is_alone(path)
    assert len(server.requests) == 10


def test_a_server_without_ranges_begins_anew(server: DumpServer, path: Path) -> None:
    server.has_ranges = False
    server.turns = [Turn(sent=200_000), Turn(sent=100_000)]
    fetch(server.file, path)
    assert is_alone(path)
    assert server.ranges[-1] == "bytes=100000-"


def test_without_ranges_and_never_getting_further_it_ends(server: DumpServer, path: Path) -> None:
    server.has_ranges = False
    server.turns = [Turn(sent=200_000)] * 100
    with pytest.raises(Unreachable, match="goes on behind the 200,000 bytes"):
        fetch(server.file, path)
    assert len(server.requests) == 1 + TRIES


def test_a_server_that_tells_no_version_is_continued(server: DumpServer, path: Path) -> None:
    server.tells_version = False
    server.turns = [Turn(sent=200_000)]
    fetch(server.file, path)
    assert is_alone(path)
    assert "if-range" not in server.requests[1].headers


def test_a_body_without_a_length_is_kept(server: DumpServer, path: Path) -> None:
    server.turns = [Turn(length=-1)]
    fetch(server.file, path)
    assert is_alone(path)


def test_a_body_without_a_length_that_ends_too_early_is_continued(
    server: DumpServer, path: Path
) -> None:
    server.turns = [Turn(sent=1000, length=-1)]
    fetch(server.file, path, size=len(BODY))
    assert is_alone(path)


def test_a_length_that_is_too_large_does_no_harm(server: DumpServer, path: Path) -> None:
    server.turns = [Turn(length=len(BODY) + 500)]
    fetch(server.file, path)
    assert is_alone(path)
    assert server.ranges[-1] == f"bytes={len(BODY)}-"


def test_bytes_behind_the_announced_ones_are_not_read(server: DumpServer, path: Path) -> None:
    server.turns = [Turn(length=len(BODY), more=b"and more")]
    fetch(server.file, path)
    assert is_alone(path)


def test_a_packed_file_stays_packed_whatever_the_server_calls_it(
    server: DumpServer, path: Path
) -> None:
    server.body, server.more_headers = gzip.compress(BODY), ["Content-Encoding: gzip"]
    server.turns = [Turn(sent=200_000)]
    fetch(server.file, path, server.body)
    assert is_alone(path, server.body)


def test_a_server_in_trouble_is_asked_again(server: DumpServer, path: Path) -> None:
    pause = Turn(503, (("Retry-After", "0"),))
    server.turns = [Turn(503), pause, Turn(sent=1000), Turn(502), Turn(503)]
    fetch(server.file, path)
    assert is_alone(path)


def test_silence_ends_a_try_and_what_came_is_kept(server: DumpServer, path: Path) -> None:
    server.turns = [Turn(sent=70_000, is_silent=True)]
    begun = time.monotonic()
    fetch(server.file, path, silence=0.2)
    assert is_alone(path)
    assert server.ranges == ["", "bytes=70000-"]
    assert time.monotonic() - begun < 15  # the silence of the server never ends


def test_a_slow_answer_may_take_longer_than_the_silence(server: DumpServer, path: Path) -> None:
    url = f"{server.url}/dribble"  # a byte every 50 ms of a million
    with ExitStack() as stack:
        stack.enter_context(pytest.raises(KeyboardInterrupt))
        settings = HttpSettings(tries=1, answer_timeout_s=0.3, limits={})
        trusted = [host_of(url)]
        client = stack.enter_context(closing(Client(settings, None, Event(), trusted=trusted)))
        shown = _interrupting_after(20)
        remote.fetch(Remote(url, sha256(b"")), path, client, settings, shown, shown)
    assert len(server.requests) == 1
    assert left_behind(path) == 20


def _interrupting_after(calls: int) -> part.Show:
    def show(done: int, total: int) -> None:
        if done >= calls:
            raise KeyboardInterrupt

    return show


# --- it goes on where it was ----------------------------------------------------------------


def cut_off(server: DumpServer, path: Path, sent: int = 200_000) -> None:
    """A first run that ends with some bytes."""
    server.turns = [Turn(sent=sent), *[Turn(503)] * TRIES]
    with pytest.raises(Unreachable):
        fetch(server.file, path)
    assert left_behind(path) == sent
    server.requests.clear()


def test_a_new_run_goes_on_where_the_last_one_ended(server: DumpServer, path: Path) -> None:
    cut_off(server, path)
    shown = fetch(server.file, path)
    assert is_alone(path)
    assert server.ranges == ["bytes=200000-"]
    assert shown[0][0] > 200_000


@pytest.mark.parametrize("heeds_versions", [True, False])
def test_a_file_that_changed_meanwhile_is_begun_anew(
    server: DumpServer, path: Path, heeds_versions: bool
) -> None:
    cut_off(server, path)
    server.body, server.heeds_versions = OTHER, heeds_versions
    fetch(server.file, path, OTHER)
    assert is_alone(path, OTHER)
    assert len(server.requests) == (1 if heeds_versions else 2)


def test_a_file_that_changes_between_two_tries_is_begun_anew(
    server: DumpServer, path: Path
) -> None:
    server.turns = [Turn(sent=200_000), Turn(sent=10_000, new_body=OTHER)]
    fetch(server.file, path, OTHER)
    assert is_alone(path, OTHER)


def test_what_came_from_another_address_is_begun_anew(server: DumpServer, path: Path) -> None:
    cut_off(server, path)
    fetch(f"{server.file}?again", path)
    assert is_alone(path)
    assert server.ranges == [""]


def test_what_came_from_another_address_stays_until_this_one_sends_something(
    server: DumpServer, path: Path
) -> None:
    cut_off(server, path)
    with pytest.raises(Unreachable):
        fetch(f"{server.url}/status/404", path)
    assert left_behind(path) == 200_000
    fetch(server.file, path)
    assert is_alone(path)
    assert server.ranges == ["", "bytes=200000-"]


@pytest.mark.parametrize("note", [b"", b"{}", b"[1,2,3]", b"[[],[],[],[]]", b"\xff"])
def test_a_part_whose_note_cannot_be_read_is_begun_anew(
    server: DumpServer, path: Path, note: bytes
) -> None:
    cut_off(server, path)
    path.with_name(path.name + ".part.from").write_bytes(note)
    fetch(server.file, path)
    assert is_alone(path)


def test_a_whole_part_is_only_proven(server: DumpServer, path: Path) -> None:
    cut_off(server, path)
    path.with_name(path.name + ".part").write_bytes(BODY)
    fetch(server.file, path)
    assert is_alone(path)
    assert not server.requests


def test_a_part_that_is_too_long_is_begun_anew(server: DumpServer, path: Path) -> None:
    cut_off(server, path)
    path.with_name(path.name + ".part").write_bytes(BODY + BODY)
    fetch(server.file, path)
    assert is_alone(path)


def test_a_redirect_to_another_host_keeps_the_range(server: DumpServer, path: Path) -> None:
    with DumpServer(BODY) as second:
        url = f"{server.url}/redirect-to?url={second.file}"
        second.turns = [Turn(sent=200_000)]
        settings = HttpSettings(tries=TRIES, limits={})
        trusted = [host_of(server.url), host_of(second.url)]
        with closing(Client(settings, None, Event(), trusted=trusted)) as client:
            file = Remote(url, sha256(BODY))
            remote.fetch(file, path, client, settings, lambda *_: None, lambda *_: None)
        assert second.ranges == ["", "bytes=200000-"]
    assert is_alone(path)


class Late(part.Part):
    """Opens what another process finishes in the same moment."""

    def _lock(self) -> None:
        self.path.replace(self.path.with_suffix(""))
        super()._lock()


def test_a_file_that_is_just_being_finished_is_left_alone(server: DumpServer, path: Path) -> None:
    cut_off(server, path)
    with pytest.raises(AlreadyRunning), Late(path, server.file, None, lambda *_: None):
        pass
    assert path.stat().st_size == 200_000


def test_two_downloads_of_one_file_do_not_meet(server: DumpServer, path: Path) -> None:
    with part.Part(path, server.file, None, lambda *_: None), pytest.raises(AlreadyRunning):
        fetch(server.file, path)
    fetch(server.file, path)
    assert is_alone(path)


# --- it is refused ---------------------------------------------------------------------------


def test_a_wrong_file_is_set_aside(server: DumpServer, path: Path) -> None:
    with pytest.raises(Fatal, match=f"{sha256(BODY)} instead of {sha256(OTHER)}"):
        fetch(server.file, path, OTHER)
    aside = path.with_name(path.name + ".wrong")
    assert list(path.parent.iterdir()) == [aside]
    assert aside.read_bytes() == BODY


def test_a_length_that_is_too_small_makes_a_wrong_file(server: DumpServer, path: Path) -> None:
    server.turns = [Turn(length=1000)]
    with pytest.raises(Fatal, match="set aside"):
        fetch(server.file, path)
    assert not path.exists()


def test_another_length_than_the_known_one_is_refused_before_it_comes(
    server: DumpServer, path: Path
) -> None:
    with pytest.raises(Unreachable, match="another file there, of 300,000 bytes"):
        fetch(server.file, path, size=1000)
    assert not list(path.parent.iterdir())
    assert len(server.requests) == 1


def test_more_bytes_than_there_can_be_are_refused(server: DumpServer, path: Path) -> None:
    server.turns = [Turn(length=-1, more=bytes(200_000))]
    with pytest.raises(Unreachable, match="more than the 300,000 bytes"):
        fetch(server.file, path, size=len(BODY))
    assert not list(path.parent.iterdir())


@pytest.mark.parametrize("status", [403, 404, 410])
def test_a_file_that_is_not_there_is_told_at_once(
    server: DumpServer, path: Path, status: int
) -> None:
    server.turns = [Turn(status)] * 9
    with pytest.raises(Unreachable, match=f"HTTP {status}"):
        fetch(server.file, path)
    assert len(server.requests) == 1
    assert not list(path.parent.iterdir())


def test_a_file_there_is_no_room_for_is_not_begun(server: DumpServer, path: Path) -> None:
    size = disk_usage(path.parent).total + 1
    with pytest.raises(StopHarvest, match="make room, or name a path on another disk"):
        fetch(server.file, path, size=size)
    assert not server.requests
    server.turns = [Turn(length=size)]
    with pytest.raises(StopHarvest, match="make room"):
        fetch(server.file, path)
    assert not list(path.parent.iterdir())


def test_a_folder_that_is_not_there_is_named(server: DumpServer, path: Path) -> None:
    with pytest.raises(StopHarvest, match="cannot be written"):
        fetch(server.file, path / "deeper")


@pytest.mark.parametrize(
    ("url", "digest"),
    [
        ("https://example.org/file", None),
        ("https://example.org/file", "abc"),
        ("file:///etc/passwd", "0" * 64),
        (None, "\N{ARABIC-INDIC DIGIT ONE}" * 64),
    ],
)
def test_what_cannot_be_proven_or_asked_is_refused(url: str | None, digest: str | None) -> None:
    with pytest.raises(UsageError):
        remote.chosen(url, digest)


def test_the_dump_is_what_is_fetched_unless_another_file_is_named() -> None:
    assert remote.chosen(None, None) == DUMP
    assert remote.chosen("http://a/b", DUMP.sha256.upper()).size == DUMP.size
    assert remote.chosen("http://a/b", "0" * 64) == Remote("http://a/b", "0" * 64, None)


def test_no_message_tells_a_password(path: Path) -> None:
    url = f"http://me:secret@127.0.0.1:{closed_port()}/dump?key=secret"
    with pytest.raises(HarvestError) as caught:
        fetch(url, path)
    assert "secret" not in str(caught.value)


# --- the command -----------------------------------------------------------------------------


def flags(server: DumpServer, path: Path, body: bytes = BODY) -> list[object]:
    return ["download", path, "--url", server.file, "--sha256", sha256(body)]


def test_the_command_fetches_and_then_says_it_is_there(server: DumpServer, path: Path) -> None:
    done = run("main.py", *flags(server, path))
    assert (done.returncode, done.stderr) == (0, "")
    assert "is complete and has the SHA-256" in done.stdout
    assert is_alone(path)
    server.requests.clear()
    done = run("main.py", *flags(server, path))
    assert (done.returncode, done.stdout) == (0, f"{path} is already there and right\n")
    assert not server.requests


def test_the_command_replaces_no_other_file(server: DumpServer, path: Path) -> None:
    path.write_bytes(OTHER)
    assert "move it away" in says(run("main.py", *flags(server, path)), 2)
    assert is_alone(path, OTHER)


def test_without_a_network_the_command_tells_what_to_fetch_elsewhere(path: Path) -> None:
    url = f"http://127.0.0.1:{closed_port()}/dump.csv.gz"
    config = path.with_name("sheaf.toml")
    config.write_text("[http]\ntries = 1\n")
    arguments = ("download", path, "--url", url, "--sha256", DUMP.sha256, "--config", config)
    sentence = says(run("main.py", *arguments), 3)
    assert url in sentence
    assert f"(497,963,447 bytes, SHA-256 {DUMP.sha256}) and put it at {path}" in sentence


def test_a_killed_download_goes_on(server: DumpServer, path: Path) -> None:
    server.turns = [Turn(sent=200_000, is_silent=True)]
    with start("main.py", *flags(server, path)) as process:
        try:
            _wait_for_bytes(path.with_name(path.name + ".part"), 200_000)
        finally:
            process.kill()
    assert left_behind(path) == 200_000
    assert run("main.py", *flags(server, path)).returncode == 0
    assert is_alone(path)
    assert server.ranges == ["", "bytes=200000-"]


def _wait_for_bytes(path: Path, count: int) -> None:
    deadline = time.monotonic() + 60
    while not (path.exists() and path.stat().st_size >= count):
        assert time.monotonic() < deadline, "nothing arrives"
        Event().wait(0.01)
