"""--dry-run tells what would happen; nothing is made, nobody is asked."""

from __future__ import annotations

import shutil
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from main import main
from tests.support.command import harvest_flags, pools_of, run
from tests.support.worlds.conceptnet import World, hub

SEED = "/c/en/hub"


def tree(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes() if path.is_file() else b""
        for path in folder.rglob("*")
    }


@pytest.fixture
def nobody(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    """Whoever looks up a name or opens a connection fails."""

    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("somebody was asked")

    for name in ("connect", "bind"):
        monkeypatch.setattr(socket.socket, name, refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    monkeypatch.chdir(tmp_path)
    yield
    assert tree(tmp_path) == {}


def said(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    assert main([*words, "--dry-run"]) == 0
    return capsys.readouterr().out


@pytest.mark.usefixtures("nobody")
def test_a_new_harvest(capsys: pytest.CaptureFixture[str]) -> None:
    told = said(capsys, "--seed", "dog,cat", "--limit", "1000")
    for part in (
        *("http://api.conceptnet.io (120/minute, 3600/hour)", "/c/en/dog, /c/en/cat", "26 types"),
        *("1,000 concepts", "new, it begins with the seeds", "graph.db: not there yet"),
        *("up to 5 images, 5 sounds, 5 gifs for concepts and relations, into m"),
        *("api.openverse.org 20/minute, 200/day", "commons.wikimedia.org 3 at once"),
        *("contact", "nothing was made or asked (--dry-run)"),
    ):
        assert part in told


@pytest.mark.usefixtures("nobody")
def test_the_sample_and_a_graph_on_a_server(capsys: pytest.CaptureFixture[str]) -> None:
    told = said(capsys, "--sample", "--graph", "neo4j://neo4j@db.example.org")
    assert "the built-in sample world" in told and "servers of the sample" in told
    assert "up to 1 image, 1 sound, 1 gif" in told and "a server, which is not asked" in told
    assert "\n  media    none\n" in said(capsys, "--sample", "--no-media") + "\n"


@pytest.mark.usefixtures("nobody")
@pytest.mark.parametrize(
    ("typed", "sentence"),
    [
        ("--source nothing.csv", "the file nothing.csv cannot be read"),
        ("--all", "--all needs a file"),
        ("--seed /r/IsA", "is not a concept"),
    ],
)
def test_what_would_end_a_harvest_ends_it(
    capsys: pytest.CaptureFixture[str], typed: str, sentence: str
) -> None:
    assert main([*typed.split(), "--dry-run"]) == 2
    assert sentence in capsys.readouterr().err


@pytest.fixture(scope="module")
def harvested(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("harvested")
    with World(hub(60)) as world:
        done = run("main.py", *harvest_flags(folder, world.url, SEED, "--limit", 7))
    assert done.returncode == 0, done.stderr
    return folder


@pytest.fixture
def folder(harvested: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(harvested, tmp_path / "copy"))


def test_a_harvest_that_goes_on(folder: Path) -> None:
    pools, before = pools_of(folder / "state"), tree(folder)
    assert pools["to_fetch"] > 0 and pools["finished"] > 0
    flags = [*harvest_flags(folder, "http://127.0.0.1:9", SEED), "--dry-run"]
    told = run("main.py", *flags).stdout
    counts = ", ".join(f"{name} {count}" for name, count in pools.items())
    assert f"goes on: {counts}\n" in told and " entities, " in told
    assert "would be set aside" in run("main.py", *flags, "--fresh").stdout
    assert {name: tree(folder)[name] for name in before} == before


def test_copy_and_export_say_what_is_there(folder: Path) -> None:
    graph, other = f"sqlite:{folder / 'graph.db'}", f"sqlite:{folder / 'other.db'}"
    copied = run("main.py", "copy", "--from", graph, "--graph", other, "--dry-run")
    assert copied.returncode == 0, copied.stderr
    assert "these would be copied" in copied.stdout and "other.db is not there yet" in copied.stdout
    files = folder / "files"
    exported = run("main.py", "export", files, "--graph", graph, "--dry-run", "--format", "csv")
    assert "these would be written as csv" in exported.stdout
    assert not files.exists() and not (folder / "other.db").exists()
    assert run("main.py", "export", folder, "--graph", graph, "--dry-run").returncode == 2
    assert run("main.py", "export", files, "--graph", other, "--dry-run").returncode == 2
