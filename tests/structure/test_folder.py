"""A folder is a source: which files, by which names, and what is not read."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from tests.structure.scene import Scene
from tests.structure.test_dispatch import put, uri
from tools.errors import GiveUp, RetryLater, UsageError
from tools.structure.sources import folder as module
from tools.structure.sources.folder import FolderSource

MAX = 10**6


def source_of(tmp_path: Path, said: str = "raw", max_bytes: int = MAX) -> FolderSource:
    return FolderSource(f"folder:{said}", said, tmp_path, max_bytes)


def names(source: FolderSource, position: str = "") -> list[str]:
    return [item.source for item, _ in source.items(position)]


@pytest.fixture
def raw(tmp_path: Path) -> Path:
    for name in ("a.html", "a/b.html", "a/c/d.html", "a.b/e.json", "z.HTML", "茶/x y.html"):
        put(tmp_path / "raw" / name, name.encode())
    return tmp_path / "raw"


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ("raw", 6),
        ("raw/", 6),
        ("./raw", 6),
        ("raw/*.html", 1),
        ("raw/**/*.html", 4),
        ("raw/*/*.html", 2),
        ("raw/a/**", 2),
        ("raw/?.html", 1),
        ("raw/[az].*", 2),
        ("raw/[!a].*", 1),
        ("raw/?/x*", 1),
        ("raw/[茗-茷]/*", 1),
        ("*/a.html", 1),
        ("raw/a.html/**", None),
    ],
)
def test_which_files_are_meant(raw: Path, said: str, expected: int | None) -> None:
    if expected is None:
        with pytest.raises(UsageError, match="there is no folder"):
            source_of(raw.parent, said)
        return
    source = source_of(raw.parent, said)
    found = list(source.items(""))
    assert len(found) == expected
    for item, _ in found:
        path = raw.parent / item.source
        assert path.read_bytes() == source.read(item.place)


def test_an_absolute_path_is_a_folder_too(raw: Path, tmp_path: Path) -> None:
    found = names(source_of(Path("/nowhere"), str(raw)))
    assert f"{raw}/a.html" in found


def test_from_every_position_the_rest_is_read(raw: Path) -> None:
    """Whatever sorts between a folder's name and what is in it."""
    source = source_of(raw.parent)
    found = list(source.items(""))
    for number, (_, position) in enumerate(found):
        assert list(source.items(position)) == found[number + 1 :]


def test_names_need_not_be_text(tmp_path: Path) -> None:
    folder = os.fsencode(tmp_path) + b"/raw/"
    os.makedirs(folder + b"d\xfe")  # noqa: PTH103
    contents = {b"\xff.html": b"1", b"%FF.html": b"2", b"d\xfe/a.html": b"3", b"a\nb.html": b"4"}
    for name, content in contents.items():
        with open(folder + name, "wb") as file:  # noqa: PTH123
            file.write(content)
    scene = Scene(tmp_path / "state", source := source_of(tmp_path))
    scene.round()
    assert sorted(scene.uris()) == sorted(uri(each) for each in contents.values())
    found = list(source.items(""))
    assert len({item.source for item, _ in found}) == 4
    assert sorted(source.read(item.place) for item, _ in found) == sorted(contents.values())
    assert all(item.source.encode().decode() for item, _ in found)


def test_links_that_lead_out_and_what_is_no_file_are_left_out(raw: Path, tmp_path: Path) -> None:
    put(tmp_path / "secret", b"secret")
    before = names(source_of(tmp_path))
    (raw / "out.html").symlink_to(tmp_path / "secret")
    (raw / "folder").symlink_to(tmp_path)
    (raw / "round").symlink_to(raw)
    (raw / "dangling.html").symlink_to(raw / "nothing")
    os.mkfifo(raw / "pipe.html")
    (raw / ".hidden.html").write_text("x")
    source = source_of(tmp_path)
    assert names(source) == before
    (raw / "in.html").symlink_to(raw / "a.html")
    assert set(names(source)) - set(before) == {"raw/in.html"}
    for place in ("out.html", "../secret", "folder/secret", "//%2e%2e/secret", "/etc/passwd"):
        with pytest.raises(GiveUp):
            source.read(place)
    with pytest.raises(GiveUp, match="no file"):
        source.read("pipe.html")


def test_what_is_too_large_or_gone_is_told(raw: Path) -> None:
    source = source_of(raw.parent, max_bytes=5)
    with pytest.raises(GiveUp, match="larger than 5 bytes"):
        source.read("a.html")
    with pytest.raises(GiveUp, match="No such file"):
        source.read("b.html")


def test_a_file_that_is_being_written_is_left_for_later(raw: Path) -> None:
    path, source, is_ended = raw / "a.html", source_of(raw.parent, max_bytes=10**9), False
    path.write_bytes(bytes(30_000_000))

    def write() -> None:
        with path.open("ab") as file:
            while not is_ended:
                file.write(bytes(1000))
                file.flush()

    writer = threading.Thread(target=write)
    writer.start()
    try:
        with pytest.raises(RetryLater, match="just being written"):
            for _ in range(100):
                source.read("a.html")
    finally:
        is_ended = True
        writer.join()
    assert len(source.read("a.html")) == path.stat().st_size


def test_a_change_within_a_tick_of_the_disks_clock_is_seen(tmp_path: Path) -> None:
    path = tmp_path / "raw/a.html"
    now = int(time.time())
    put(path, b"one", now)
    scene = Scene(tmp_path / "state", source_of(tmp_path))
    scene.round()
    put(path, b"two", now)  # as long, and at the same moment
    scene.round()
    assert scene.uris() == [uri(b"one"), uri(b"two")]


def test_files_and_folders_one_may_not_read_do_not_stop_the_rest(tmp_path: Path) -> None:
    """In a process that may not do everything."""
    for name in ("a.html", "b.html", "c/d.html", "e.html"):
        put(tmp_path / "raw" / name, name.encode())
    tmp_path.chmod(0o755)
    (tmp_path / "raw/b.html").chmod(0)
    (tmp_path / "raw/c").chmod(0)
    program = f"""
import logging, os, sys
from pathlib import Path
from tools.structure.sources.folder import FolderSource
if not os.geteuid():
    os.setgid(65534); os.setuid(65534)
logging.basicConfig(stream=sys.stdout)
source = FolderSource("folder:raw", "raw", Path({str(tmp_path)!r}), 100)
for _ in range(2):
    for item, _ in source.items(""):
        try:
            print(item.source, source.read(item.place))
        except Exception as error:
            print(item.source, type(error).__name__, error)
"""
    for folder in (tmp_path, *tmp_path.parents):
        if folder.stat().st_uid == os.geteuid() and str(folder).startswith("/tmp/pytest"):
            folder.chmod(0o755)
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=60
    )
    (tmp_path / "raw/c").chmod(0o755)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("raw/a.html b'a.html'") == 2
    assert done.stdout.count("raw/b.html GiveUp b.html cannot be read: Permission denied") == 2
    assert done.stdout.count("raw/e.html b'e.html'") == 2
    assert done.stdout.count("the folder raw/c/ is left out: Permission denied") == 1


def test_a_folder_that_is_gone_is_told(raw: Path) -> None:
    source = source_of(raw.parent)
    raw.rename(raw.parent / "elsewhere")
    with pytest.raises(GiveUp, match="not there any more"):
        names(source)


def test_files_that_did_not_change_cost_little(tmp_path: Path) -> None:
    """Measured: 100,000 of them take two seconds of CPU."""
    for number in range(5000):
        put(tmp_path / f"raw/{number // 1000}/{number % 1000}.html", b"%d" % number)
    scene = Scene(tmp_path / "state", source_of(tmp_path), most_waiting=10**6)
    scene.round()
    begun = time.process_time()
    scene.round()
    seconds = time.process_time() - begun
    assert scene.pools.tallied("found") == 5000
    assert seconds < 1


def test_young_files_are_those_of_a_moment_ago() -> None:
    assert 1 < module.YOUNG_S < 60


def test_a_pattern_that_cannot_be_is_told(raw: Path) -> None:
    with pytest.raises(UsageError, match="no pattern of names: bad character range z-a"):
        source_of(raw.parent, "raw/[z-a]*")


def test_a_backslash_in_a_pattern_is_one(raw: Path) -> None:
    put(raw / "\\x", b"odd")
    assert names(source_of(raw.parent, "raw/[\\]*")) == ["raw/\\x"]
