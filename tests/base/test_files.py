"""A file is there whole or as it was before, and on the disk where that was asked for."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tools.base.files import publish, sync, whole_file, write_all, write_whole


@pytest.fixture
def synced(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of what was brought to the disk, in order, and of what was renamed."""
    done: list[str] = []
    fsync, replace = os.fsync, Path.replace

    def noted_fsync(fd: int) -> None:
        done.append(Path(f"/proc/self/fd/{fd}").readlink().name)
        fsync(fd)

    def noted_replace(self: Path, target: Path) -> Path:
        done.append(f"{self.name} -> {target.name}")
        return replace(self, target)

    monkeypatch.setattr(os, "fsync", noted_fsync)
    monkeypatch.setattr(Path, "replace", noted_replace)
    return done


def test_what_is_durable_is_on_the_disk_before_and_after_it_has_its_name(
    tmp_path: Path, synced: list[str]
) -> None:
    write_whole(tmp_path / "a", b"text", durable=True)
    assert synced == ["a.part", "a.part -> a", tmp_path.name]
    assert (tmp_path / "a").read_bytes() == b"text"


def test_what_can_be_made_again_waits_for_no_disk(tmp_path: Path, synced: list[str]) -> None:
    write_whole(tmp_path / "a", (each for each in (b"one", b"two")), durable=False)
    assert synced == ["a.part -> a"]
    assert (tmp_path / "a").read_bytes() == b"onetwo"


def test_while_it_is_written_the_old_one_is_there(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"old")
    with whole_file(path, durable=False) as part:
        part.write_bytes(b"half")
        assert path.read_bytes() == b"old"
    assert path.read_bytes() == b"half"
    assert [each.name for each in tmp_path.iterdir()] == ["a"]


@pytest.mark.parametrize("error", [OSError("full"), ValueError("a bug"), KeyboardInterrupt()])
def test_what_fails_leaves_the_old_one_and_nothing_else(
    tmp_path: Path, error: BaseException
) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"old")

    def torn() -> Iterator[bytes]:
        yield b"half"
        raise error

    with pytest.raises(type(error)):
        write_whole(path, torn(), durable=True)
    assert [(each.name, each.read_bytes()) for each in tmp_path.iterdir()] == [("a", b"old")]


def test_a_disk_that_refuses_keeps_the_old_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"old")

    def refuse(_: int) -> None:
        raise OSError("it cannot be kept")

    monkeypatch.setattr(os, "fsync", refuse)
    with pytest.raises(OSError, match="it cannot be kept"):
        write_whole(path, b"new", durable=True)
    assert [(each.name, each.read_bytes()) for each in tmp_path.iterdir()] == [("a", b"old")]


def test_what_a_kill_left_or_leads_elsewhere_is_not_written_into(tmp_path: Path) -> None:
    (tmp_path / "mine").write_bytes(b"mine")
    (tmp_path / "a.part").symlink_to(tmp_path / "mine")
    write_whole(tmp_path / "a", b"text", durable=False)
    assert (tmp_path / "mine").read_bytes() == b"mine"
    assert not (tmp_path / "a").is_symlink() and (tmp_path / "a").read_bytes() == b"text"


def test_those_who_write_together_do_not_meet(tmp_path: Path) -> None:
    path = tmp_path / "a"
    with whole_file(path, durable=False, part=tmp_path / "1") as one:
        one.write_bytes(b"one")
        write_whole(path, b"two", durable=False, part=tmp_path / "2")
    assert path.read_bytes() == b"one"


def test_a_folder_gets_its_name_too(tmp_path: Path, synced: list[str]) -> None:
    (tmp_path / "part").mkdir()
    publish(tmp_path / "part", tmp_path / "folder", durable=True)
    sync(tmp_path / "folder")
    assert synced == ["part", "part -> folder", tmp_path.name, "folder"]


def test_all_is_written_however_little_the_system_takes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write = os.write
    monkeypatch.setattr(os, "write", lambda fd, content: write(fd, content[:3]))
    with (tmp_path / "a").open("wb") as file:
        write_all(file.fileno(), b"0123456789")
    assert (tmp_path / "a").read_bytes() == b"0123456789"
