"""The soak itself: its world, its servers, what its comparison sees, and a short run of it."""

from __future__ import annotations

import doctest
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
import requests

from tests.soak import world
from tests.soak.__main__ import main
from tests.soak.compare import Places, differences, essence, flaws, on_disk
from tests.soak.disk import Disk
from tests.soak.faults import DISK_FAULTS
from tests.soak.harvest import Harvest, settings
from tests.soak.hosts import Neighbourhood
from tests.soak.soak import Plan, Soak
from tests.support.chance import any_seed
from tests.support.command import run, walk
from tests.support.needs import missing
from tools.sample.texts import Texts

TINY = 0.02  # 38 concepts
SMALL = 0.05


@pytest.fixture(scope="module")
def near() -> Iterator[Neighbourhood]:
    with Neighbourhood(world.lines(TINY)) as near:
        yield near


@pytest.fixture(scope="module")
def quiet(near: Neighbourhood, tmp_path_factory: pytest.TempPathFactory) -> Places:
    """An undisturbed harvest."""
    folder = tmp_path_factory.mktemp("quiet")
    places = Places(folder / "state", folder / "m")
    (folder / "sheaf.toml").write_text(settings(places, near, ("images", "gifs"), "both"))
    done = run("main.py", "--config", folder / "sheaf.toml")
    assert done.returncode == 0, done.stderr
    assert not flaws(places)
    return places


@pytest.fixture
def other(quiet: Places, tmp_path: Path) -> Places:
    """The same once more, to be spoilt."""
    shutil.copytree(quiet.state, tmp_path / "state")
    shutil.copytree(quiet.media, tmp_path / "m")
    places = Places(tmp_path / "state", tmp_path / "m")
    assert not flaws(places) and not differences(essence(quiet), essence(places))
    return places


def test_the_world_is_connected_and_many_times_as_large() -> None:
    one, three = world.lines(1), world.lines(3)
    assert three == world.lines(3)
    assert len(walk(three, world.SEED)[0]) == 3 * len(walk(one, world.SEED)[0])
    assert len({line.partition("\t")[0] for line in three}) == len(three)
    assert len(Texts.of(three).taxa) == 3 * len(Texts.of(one).taxa)


def test_the_examples_of_the_world_hold() -> None:
    tried = doctest.testmod(world)
    assert tried.attempted and not tried.failed


def test_a_part_of_the_world_is_connected() -> None:
    for scale in (0.02, 0.1, 0.5):
        part = world.lines(scale)
        assert len(walk(part, world.SEED)[0]) == round(scale * 1888)


def test_there_are_media_for_concepts_of_every_district() -> None:
    lines = [line for line in world.lines(2) if "/c/en/dog_ba/" in line or "/c/en/cat_ba/" in line]
    with Neighbourhood(lines) as near:
        commons, openverse, _ = near.providers
        query = {"action": "query", "format": "json", "formatversion": "2", "generator": "search",
                 "gsrnamespace": "6", "prop": "imageinfo", "iiprop": "url",
                 "gsrsearch": "cat ba filetype:bitmap"}  # fmt: skip
        found = requests.get(f"{commons.url}/w/api.php", params=query, timeout=10).json()
        assert [page["title"] for page in found["query"]["pages"]] == ["File:Cat ba 1.jpg"]
        assert openverse.requests == 0 and commons.requests == 1


def test_hosts_have_moods(near: Neighbourhood) -> None:
    commons = near.providers[0]
    commons.fall_into("503", 60)
    assert requests.get(commons.url, timeout=10).status_code == 503
    commons.fall_into("cut", 60)
    with pytest.raises(requests.ConnectionError):
        requests.get(commons.url, timeout=10)
    commons.recover()
    assert requests.get(commons.url, timeout=10).status_code != 503
    before = commons.url
    commons.refuse()
    with pytest.raises(requests.ConnectionError):
        requests.get(commons.url, timeout=10)
    commons.accept()
    assert commons.url == before
    assert requests.get(commons.url, timeout=10).status_code != 503


def test_who_goes_past_the_proxies_is_seen(near: Neighbourhood) -> None:
    near.only_proxies = True
    try:
        proxies = {"http": near.proxies[0].url}
        assert requests.get(near.source.url, proxies=proxies, timeout=10).ok
        assert near.direct == 0
        requests.get(near.source.url, timeout=10)
        assert near.direct == 1
    finally:
        near.only_proxies, near.direct = False, 0


def test_a_disk_is_full_and_has_room_again(tmp_path: Path) -> None:
    with Disk(tmp_path / "disk") as disk:
        if not disk.can_fill:
            missing("no file system can be mounted: the full disk is not tested")
        file = disk.folder / "file"
        disk.fill()
        with pytest.raises(OSError, match="No space left"):
            file.write_bytes(bytes(100_000))
        disk.free()
        assert file.write_bytes(bytes(100_000))
    assert not file.exists()


def change(file: Path, statement: str) -> None:
    with closing(sqlite3.connect(file)) as db:
        db.execute(statement)
        db.commit()


def test_a_lost_file_is_seen(quiet: Places, other: Places) -> None:
    name, path = next(iter(on_disk(other.media).items()))
    path.unlink()
    assert f"media: a record without a file: {name}" in flaws(other)
    assert any(name in each for each in differences(essence(quiet), essence(other)))


def test_another_file_and_one_too_many_are_seen(quiet: Places, other: Places) -> None:
    name, path = next(iter(on_disk(other.media).items()))
    path.write_bytes(b"something else")
    (other.media / "en" / "stray.jpg.part").write_bytes(b"left over")
    assert set(flaws(other)) == {
        f"media: another file than recorded: {name}",
        "media: a file without a record: en/stray.jpg.part",
    }


def test_a_line_that_stands_twice_is_seen(other: Places) -> None:
    for book in ("MEDIA.jsonl", "ATTRIBUTION.csv", "SEARCHES.jsonl"):
        lines = (other.media / book).read_text().splitlines(keepends=True)
        (other.media / book).write_text("".join([*lines, lines[-1]]))
    assert [each.partition(":")[0] for each in flaws(other)] == [
        "MEDIA.jsonl", "ATTRIBUTION.csv", "SEARCHES.jsonl"
    ]  # fmt: skip


def test_lost_and_failed_uris_and_changed_relations_are_seen(quiet: Places, other: Places) -> None:
    change(other.pools, "DELETE FROM uri WHERE uri = '/c/en/pet'")
    change(other.pools, "UPDATE uri SET pool = 1, reason = 'because' WHERE uri = '/c/en/animal'")
    change(other.graph, "UPDATE relation SET weight = 7.0")
    found = differences(essence(quiet), essence(other))
    assert "finished: missing: '/c/en/pet'" in found
    assert "finished: missing: '/c/en/animal'" in found
    assert any(each.startswith("graph, relation: too much: ") for each in found)


def test_a_process_that_ends_for_no_reason_is_seen(
    near: Neighbourhood, quiet: Places, tmp_path: Path
) -> None:
    (tmp_path / "bad.toml").write_text("sedes = 1")
    harvest = Harvest(quiet, tmp_path / "bad.toml", "", [])
    harvest.start()
    assert harvest.bury(lambda code: code == 0) == 2
    first, second = harvest.flaws
    assert first.startswith("history.py ended with 2") and "sedes" in first
    assert second.startswith("run 1 ended with 2") and "sedes" in second


SHORT = (  # after bad health of others an end of the process: it would wait for half a minute
    *("kill -9 during fetch", "source answers 503", "kill -9 while starting", "state disk full"),
    *("some proxies die", "all proxies die", "SIGTERM", "kill -9 during a snapshot"),
    *(
        "provider answers 503",
        "media disk full",
        "a worker is killed",
        "a worker crashes",
        "kill -9 during extend",
        "provider cuts connections",
    ),
    *("SIGINT twice", "files may not grow", "kill -9 at the end"),
)


def test_a_folder_in_use_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "thesis.txt").write_text("mine")
    assert main(["--folder", str(tmp_path)]) == 2
    assert "is not empty" in capsys.readouterr().err


def test_a_short_soak_of_every_kind_of_fault_changes_nothing(tmp_path: Path) -> None:
    seed = any_seed()
    print(f"a soak with seed {seed}")
    soak = Soak(Plan(scale=SMALL, seed=seed, faults=SHORT, processes=2), tmp_path)
    assert soak.run() == []
    assert soak.story.faults.keys() | DISK_FAULTS.keys() == set(SHORT)
    assert soak.ends["ended with -9"] >= 2  # some kills come too late
