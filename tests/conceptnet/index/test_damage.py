"""An index that is damaged is named, whatever is wrong with it, and never gives another graph."""

from __future__ import annotations

import json
import logging
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest

from main import main
from tests.conceptnet.index.test_build import SENSES, WORLD, walk, written
from tests.support.command import DEFAULT_FILTER, Here, records
from tests.support.dump_world import set_small
from tools.conceptnet.dump.shown import Edge
from tools.conceptnet.index import build, proof
from tools.conceptnet.index.build import open_index
from tools.errors import StateDamaged

TOLD = "delete that folder and start again: it is built anew"


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    set_small(monkeypatch.setattr)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = written(tmp_path / "world.csv.gz", WORLD + SENSES)
    open_index(path, DEFAULT_FILTER)
    return path


def index_beside(file: Path) -> Path:
    (folder,) = file.parent.glob("*.sheaf-index/en-*")
    return folder


def cut(path: Path) -> None:
    os.truncate(path, path.stat().st_size // 2)


def empty(path: Path) -> None:
    os.truncate(path, 0)


def flip(path: Path) -> None:
    """A few bits, and nothing that a glance would notice."""
    before, content = path.stat(), bytearray(path.read_bytes())
    for at in Random(1).sample(range(len(content)), 5):
        content[at] ^= 1
    with path.open("r+b") as file:
        file.write(content)
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


def remove(path: Path) -> None:
    path.unlink()


PARTS = (
    *("keys", "places", "0001/00/text", "0001/00/blocks", "0001/00/kind", "0001/00/kinds"),
    *("0001/00/origin", "0001/00/origins", "0001/00/weight", "note.json"),
)
DAMAGES = {
    **{f"{how.__name__} {part}": (part, how) for part in PARTS for how in (cut, flip, remove)},
    **{f"empty {part}": (part, empty) for part in PARTS},
    **{f"remove {part}": (part, remove) for part in ("shared", "0001/00/dictionary")},
    **{f"no {part}": (part, shutil.rmtree) for part in ("0001", "0000/00")},
    **{
        f"a note of {text}": ("note.json", lambda path, text=text: path.write_text(text))
        for text in ("{}", '{"format":1}', '{"format":2}', "[]", "null", "no JSON", "1" * 40)
    },
}


@pytest.mark.parametrize(("part", "how"), DAMAGES.values(), ids=DAMAGES)
def test_damage_is_named_with_what_to_do_and_doing_it_helps(
    file: Path, part: str, how: Callable[[Path], object]
) -> None:
    folder, whole = index_beside(file), about_hub(file)
    how(folder / part)
    for _ in range(2):
        with pytest.raises(StateDamaged) as caught:
            open_index(file, DEFAULT_FILTER)
        said = str(caught.value)
        assert said.startswith(f"the index {folder} is damaged (")
        assert said.endswith(f"): {TOLD}")
    shutil.rmtree(folder)
    assert about_hub(file) == whole


def about_hub(file: Path) -> list[Edge]:
    return open_index(file, DEFAULT_FILTER).about("/c/en/hub", DEFAULT_FILTER)


def test_the_harvest_and_the_mirror_end_with_6(here: Here, tmp_path: Path, file: Path) -> None:
    folder = index_beside(file)
    folder.rename(folder.with_name("aside"))
    open_index(file, None)
    folder = folder.with_name("whole")
    cut(folder / "keys")
    for asked in (walk(tmp_path, file), ["mirror", "--source", str(file), "--port", "0", "-q"]):
        said = here(*asked)
        assert said.startswith(f"6 sheaf: the index {folder} is damaged (keys has ")
        assert " bytes instead of " in said
        assert said.endswith(f"{TOLD}\n")
    shutil.rmtree(folder)
    assert main(walk(tmp_path, file)) == 0
    assert len(records(tmp_path / "state" / "graph.db")["relation"]) > 200


def test_damage_that_comes_later_ends_the_walk(file: Path) -> None:
    index = open_index(file, DEFAULT_FILTER)
    for text in index_beside(file).glob("*/*/text"):
        with text.open("r+b") as opened:
            opened.write(b"\xff" * text.stat().st_size)
    for asked in (
        lambda: index.about("/c/en/hub", DEFAULT_FILTER),
        lambda: index.find({"node": "/c/en/hub"}),
        lambda: index.edge(WORLD[0].partition("\t")[0]),
    ):
        with pytest.raises(StateDamaged, match=TOLD):
            asked()


# --- how often hashes are compared ---------------------------------------------------------------


@pytest.fixture
def hashed(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """Which files were read to the end."""
    read: list[Path] = []
    digest = proof.digest_of

    def noted(path: Path) -> str:
        read.append(path)
        return digest(path)

    monkeypatch.setattr(proof, "digest_of", noted)
    return read


def test_hashes_are_compared_once_until_the_next_boot(
    file: Path, hashed: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    for _ in range(2):
        open_index(file, DEFAULT_FILTER)
    assert not hashed
    monkeypatch.setattr(proof, "boot", lambda: "another one")
    open_index(file, DEFAULT_FILTER)
    assert index_beside(file) / "keys" in hashed
    known = len(hashed)
    open_index(file, DEFAULT_FILTER)
    assert len(hashed) == known


def test_hashes_are_compared_again_if_a_file_was_touched(file: Path, hashed: list[Path]) -> None:
    os.utime(index_beside(file) / "keys")
    open_index(file, DEFAULT_FILTER)
    assert hashed


def test_what_cannot_be_remembered_is_compared_again(file: Path, hashed: list[Path]) -> None:
    proven = index_beside(file) / proof.PROVEN
    proven.unlink()
    proven.mkdir()
    for _ in range(2):
        hashed.clear()
        open_index(file, DEFAULT_FILTER)
        assert hashed


# --- other formats --------------------------------------------------------------------------------


def as_older(folder: Path) -> None:
    note = json.loads((folder / "note.json").read_text())
    kept = {key: note[key] for key in ("filter", "stretch", "size", "mtime_ns", "sha256")}
    (folder / "note.json").write_text(json.dumps({**kept, "format": 1, "row_bits": 24}))


def test_an_index_of_an_older_format_is_made_anew_with_a_word(
    file: Path, caplog: pytest.LogCaptureFixture
) -> None:
    folder = index_beside(file)
    as_older(folder)
    with caplog.at_level(logging.WARNING):
        index = open_index(file, DEFAULT_FILTER)
    assert [record.getMessage() for record in caplog.records] == [
        f"the index {folder} was made by another version of Sheaf: it is made anew"
    ]
    assert index.about("/c/en/hub", DEFAULT_FILTER)
    assert json.loads((folder / "note.json").read_text())["format"] == build.FORMAT
    caplog.clear()
    open_index(file, DEFAULT_FILTER)
    assert not caplog.records


def test_what_was_left_of_a_build_by_an_unknown_version_is_not_gone_on_with(file: Path) -> None:
    folder, whole = index_beside(file), about_hub(file)
    part = folder.with_name(f"{folder.name}.part")
    folder.rename(part)
    (part / "note.json").write_text("torn")
    flip(part / "0001/00/kind")
    assert about_hub(file) == whole
