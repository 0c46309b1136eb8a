"""Harvests with media, as a user runs them: complete, proven, credited, whatever happens."""

from __future__ import annotations

import csv
import hashlib
import json
import shutil
import sqlite3
import subprocess
import sys
from collections import Counter
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import numpy
import pytest
import soundfile
from PIL import Image

from tests.support.command import ROOT, clean_environment, history, run, says
from tests.support.worlds.conceptnet import World
from tests.support.worlds.interim import HintingProxy
from tests.support.worlds.media import MediaWorld
from tools.add import Media
from tools.commands.harvest import load_settings
from tools.commands.parsing import parsed
from tools.conceptnet.rules import is_showable
from tools.engine.harvest import Harvest
from tools.graphs.sqlite import SqliteGraph
from tools.jobs.conceptnet_results import Results

SEED = "/c/en/flea"  # with everything one relation away: 8 concepts, 114 relations


def flags(folder: Path, world: World, media: MediaWorld, *more: object) -> list[object]:
    folder.mkdir(exist_ok=True)
    return [
        *("--source", world.url, "--seed", SEED, "--depth", 1, "--config", media.settings(folder)),
        *("--state", folder / "state", "--graph", f"sqlite:{folder / 'graph.db'}"),
        *("--media", folder / "m", *more),
    ]


def harvest(folder: Path, world: World, media: MediaWorld, *more: object) -> None:
    done = run("main.py", *flags(folder, world, media, *more))
    assert done.returncode == 0, done.stderr


def recorded(folder: Path) -> dict[str, tuple[str, Media]]:
    """Every file the graph knows, with its owner."""
    fields = ", ".join(Media._fields)
    with closing(sqlite3.connect(folder / "graph.db")) as db:
        rows = db.execute(f"SELECT owner, {fields} FROM media").fetchall()
    return {row[1]: (row[0], Media(*row[1:])) for row in rows}


def on_disk(folder: Path) -> dict[str, Path]:
    books = {"MEDIA.jsonl", "ATTRIBUTION.csv", "SEARCHES.jsonl", "HARVEST"}
    files = [path for path in (folder / "m").rglob("*") if path.is_file()]
    found = {path.relative_to(folder / "m").as_posix(): path for path in files}
    return {name: path for name, path in found.items() if name not in books}


def searches(folder: Path) -> dict[str, dict[str, object]]:
    lines = (folder / "m" / "SEARCHES.jsonl").read_text().splitlines()
    found = [json.loads(line) for line in lines]
    assert len({each["owner"] for each in found}) == len(found), "a search stands there twice"
    return {each["owner"]: each for each in found}


def essence(folder: Path) -> dict[str, tuple[object, ...]]:
    """What must be the same in every harvest of the same world."""
    return {
        path: (owner, each.sha256, each.author, each.license, each.page, each.title, each.phash)
        for path, (owner, each) in recorded(folder).items()
    }


def assert_sound(folder: Path) -> None:
    """Graph, disk and books tell the same, and every file is what its record says."""
    known, files = recorded(folder), on_disk(folder)
    assert known.keys() == files.keys()
    for path, (_, each) in known.items():
        content = files[path].read_bytes()
        assert (len(content), hashlib.sha256(content).hexdigest()) == (each.bytes, each.sha256)
        assert all((each.license, each.author, each.page, each.source, each.provider, each.time))
        assert decodes(files[path], each.kind), path
    hashes = Counter((owner, each.sha256) for owner, each in known.values())
    assert set(hashes.values()) == {1}, "a file is there twice"
    lines = [json.loads(line) for line in (folder / "m/MEDIA.jsonl").read_text().splitlines()]
    assert sorted(line["path"] for line in lines) == sorted(known)
    with (folder / "m/ATTRIBUTION.csv").open(newline="") as file:
        assert sorted(row["path"] for row in csv.DictReader(file)) == sorted(known)
    assert not list((folder / "state/drafts").rglob("*.json"))


def decodes(path: Path, kind: str) -> bool:
    if kind == "audio":
        samples, _ = soundfile.read(path)
        return bool(numpy.any(samples))
    with Image.open(path) as image:
        frames = getattr(image, "n_frames", 1)
        for number in range(frames):
            image.seek(number)
            image.load()
    return frames > 1 or kind == "image"


@pytest.fixture(scope="module")
def quiet(tmp_path_factory: pytest.TempPathFactory, world: World, media: MediaWorld) -> Path:
    folder = tmp_path_factory.mktemp("quiet") / "harvest"
    harvest(folder, world, media)
    return folder


def test_most_concepts_and_relations_get_every_kind_and_all_of_it_is_sound(quiet: Path) -> None:
    assert_sound(quiet)
    pools = history(quiet)["pools"]
    assert pools["finished"] == sum(pools.values())
    with closing(sqlite3.connect(quiet / "graph.db")) as db:
        types = dict(db.execute("SELECT uri, type FROM relation"))
    found = searches(quiet)
    assert {each for each in types if is_showable(types[each])} == {
        owner for owner in found if owner.startswith("/a/")
    }
    for kind in ("image", "audio", "visual"):
        having = sum(bool(each["kept"][kind]) for each in found.values())  # type: ignore[index]
        assert having > 0.8 * len(found), kind
    refused = {each["reason"] for one in found.values() for each in one["refused"]}  # type: ignore[attr-defined]
    assert refused, "the sample's bad files were not even met"


def test_a_second_run_asks_for_nothing(quiet: Path, world: World, media: MediaWorld) -> None:
    before, known = len(media.paths), essence(quiet)
    harvest(quiet, world, media)
    assert len(media.paths) == before
    assert essence(quiet) == known


def test_a_provider_that_is_down_for_half_the_run_leaves_nothing_empty(
    tmp_path: Path, quiet: Path, world: World
) -> None:
    half = len(searches(quiet))

    def commons_is_down(name: str, paths: list[str]) -> bool:
        others = sum(path.startswith("openverse/v1") for path in paths)
        return name == "commons" and others < half

    with MediaWorld(commons_is_down) as broken:
        harvest(tmp_path, world, broken)
    assert broken.refused.count("commons") >= 2
    assert_sound(tmp_path)
    kept = {owner: each["kept"] for owner, each in searches(tmp_path).items()}
    assert kept == {owner: each["kept"] for owner, each in searches(quiet).items()}
    assert history(tmp_path)["pools"]["failed"] == 0


def test_interim_answers_credit_nothing_to_another(
    tmp_path: Path, quiet: Path, world: World, media: MediaWorld
) -> None:
    """Every page, search and file is announced by an interim answer before it comes."""
    with HintingProxy() as proxy:
        done = run("main.py", *flags(tmp_path, world, media), SHEAF_PROXIES=proxy.url)
    assert done.returncode == 0, done.stderr
    assert_sound(tmp_path)
    assert essence(tmp_path) == essence(quiet)
    assert history(tmp_path)["pools"] == history(quiet)["pools"]
    assert proxy.tunnels < 100


@pytest.mark.parametrize("ground", ["concepts", "relations"])
def test_the_settings_choose_what_gets_media(
    tmp_path: Path, quiet: Path, world: World, media: MediaWorld, ground: str
) -> None:
    words = flags(tmp_path, world, media)
    media.settings(tmp_path, ground=f'"{ground}"', licences='["cc0"]')
    done = run("main.py", *words)
    assert done.returncode == 0, done.stderr
    is_relation = ground == "relations"
    assert {owner.startswith("/a/") for owner in searches(tmp_path)} == {is_relation}
    assert searches(tmp_path).keys() < searches(quiet).keys()
    licences = {each.license for _, each in recorded(tmp_path).values()}
    assert licences == {"cc0-1.0"}


def test_media_of_another_harvest_are_not_written_over(
    tmp_path: Path, quiet: Path, world: World, media: MediaWorld
) -> None:
    done = run("main.py", *flags(tmp_path, world, media), "--media", quiet / "m")
    assert "holds the media of a harvest" in says(done, 6)
    harvest(tmp_path, world, media, "--media", quiet / "m", "--no-media")
    assert_sound(quiet)
    done = run("main.py", *flags(tmp_path, world, media), "--media", quiet / "m")
    assert "holds the media of a harvest" in done.stderr and done.returncode == 6
    assert_sound(quiet)


def test_a_media_folder_may_move(
    tmp_path: Path, quiet: Path, world: World, media: MediaWorld
) -> None:
    shutil.copytree(quiet, tmp_path / "copy")
    (tmp_path / "copy/m").rename(tmp_path / "elsewhere")
    harvest(tmp_path / "copy", world, media, "--media", tmp_path / "elsewhere")


def test_fresh_sets_the_media_aside(tmp_path: Path, world: World, media: MediaWorld) -> None:
    harvest(tmp_path, world, media)
    known = on_disk(tmp_path).keys()
    done = run("main.py", *flags(tmp_path, world, media, "--fresh", "--no-media"))
    assert done.returncode == 0, done.stderr
    assert f"the old media folder is set aside in {tmp_path / 'm/aside-1'}" in done.stdout
    assert {name.removeprefix("aside-1/") for name in on_disk(tmp_path)} >= known


def test_fresh_leaves_a_folder_alone_that_is_nobodys(
    tmp_path: Path, world: World, media: MediaWorld
) -> None:
    (tmp_path / "m").mkdir()
    (tmp_path / "m/thesis.txt").write_text("mine")
    harvest(tmp_path, world, media, "--fresh", "--no-media")
    assert [path.name for path in (tmp_path / "m").iterdir()] == ["thesis.txt"]


def test_credits_and_sheets_are_for_everybody(
    quiet: Path, world: World, media: MediaWorld, tmp_path: Path
) -> None:
    places = ("--state", quiet / "state", "--graph", f"sqlite:{quiet / 'graph.db'}")
    known = recorded(quiet)
    every = run("main.py", "credits", "--format", "csv", *places)
    assert every.returncode == 0, every.stderr
    assert {row["path"] for row in csv.DictReader(every.stdout.splitlines())} == known.keys()
    one = run("main.py", "credits", SEED, *places)
    authors = {each.author for owner, each in known.values() if owner == SEED}
    assert authors and all(f"by {author}" in one.stdout for author in authors)
    page = run("main.py", "sheet", SEED, *places, "--media", quiet / "m")
    assert page.returncode == 0, page.stderr
    assert Path(page.stdout.strip()).read_text().count("data:image/") >= 2
    index = run("main.py", "sheet", *places, "--media", quiet / "m")
    assert Path(index.stdout.strip()) == quiet / "state/sheets/index.html"
    with subprocess.Popen(
        [sys.executable, str(ROOT / "main.py"), "credits", *map(str, places)],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=clean_environment(),
    ) as reader:  # fmt: skip
        assert reader.stdout is not None and reader.stderr is not None
        reader.stdout.close()  # as `| head` does when it has seen enough
        assert reader.stderr.read() == b""
    assert reader.returncode == 0
    assert "/c/en/nowhere is not in the graph" in says(
        run("main.py", "credits", "/c/en/nowhere", *places), 2
    )


def test_pages_that_cannot_be_made_cost_only_themselves(
    quiet: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Whatever goes wrong with them, the last shipping and the summary are still to come."""
    shutil.copytree(quiet, tmp_path / "copy")
    words = ["--state", f"{tmp_path}/copy/state", "--media", f"{tmp_path}/copy/m", "-q"]
    words += ["--graph", f"sqlite:{tmp_path}/copy/graph.db"]
    settings = load_settings(parsed(words))
    worked = cast(Harvest, SimpleNamespace(has_worked=True))
    with closing(SqliteGraph(tmp_path / "copy/graph.db")) as graph:
        with closing(sqlite3.connect(tmp_path / "copy/graph.db")) as db:
            db.execute("DROP TABLE relation")
        results = Results(graph, settings, quiet=True)
        results.write_pages(worked)
        assert "to look at" not in results.places()
    assert "no pages to look at" in caplog.text and "no such table" in caplog.text
