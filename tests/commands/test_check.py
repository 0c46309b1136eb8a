"""`main.py check` tries everything for real, against servers on loopback, and leaves nothing.

What the receiving node is asked stands with shipping.
"""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.support.command import run
from tests.support.ports import closed_port
from tests.support.worlds.conceptnet import World
from tests.support.worlds.mail import Hook
from tests.support.worlds.media import MediaWorld
from tests.support.worlds.proxies import HttpProxy, Socks5Proxy

SEED = "/c/en/flea"


def check(
    folder: Path, *more: object, source: str, notices: str = "", proxies: str = ""
) -> subprocess.CompletedProcess[str]:
    """The flags given last win."""
    flags = (
        "--source",
        source,
        "--seed",
        SEED,
        "--state",
        folder / "state",
        "--media",
        folder / "m",
    )
    return run("main.py", "check", *flags, *more, SHEAF_NOTICES=notices, SHEAF_PROXIES=proxies)


def marks(done: subprocess.CompletedProcess[str]) -> dict[str, str]:
    """What was tried, and how it went."""
    lines = [line for line in done.stdout.splitlines() if line.startswith(("ok ", "FAILED "))]
    return {line[8:32].strip(): line[:6].strip() for line in lines}


def contents(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.rglob("*"))


def test_all_that_a_harvest_needs_is_tried_and_nothing_is_left(
    tmp_path: Path, world: World, media: MediaWorld
) -> None:
    config = media.settings(tmp_path)
    with Hook() as hook:
        done = check(tmp_path, "--config", config, source=world.url, notices=hook.address())
        assert hook.next()["title"] == "a trial"
    assert done.returncode == 0, done.stdout + done.stderr
    tried = marks(done)
    assert set(tried.values()) == {"ok"}
    assert {"state folder", "graph", "source", "media folder", "contact"} <= tried.keys()
    assert {f"provider {name}" for name in ("commons", "openverse", "inaturalist")} <= tried.keys()
    assert contents(tmp_path) == [config.name]


def test_each_proxy_is_tried_alone(tmp_path: Path, world: World) -> None:
    with HttpProxy() as one, Socks5Proxy() as other:
        dead = f"http://someone:s3cret@127.0.0.1:{closed_port()}"
        urls = f"{one.url},{dead},{other.url}"
        done = check(tmp_path, "--no-media", source=world.url, proxies=urls)
        assert one.asked and other.asked
    assert done.returncode == 3
    assert [marks(done)[f"proxy {number}"] for number in (1, 2, 3)] == ["ok", "FAILED", "ok"]
    assert "s3cret" not in done.stdout + done.stderr


def test_a_source_that_is_away_is_told_and_the_rest_is_tried_all_the_same(tmp_path: Path) -> None:
    done = check(tmp_path, "--no-media", source=f"http://127.0.0.1:{closed_port()}")
    assert done.returncode == 3
    assert marks(done) == {"state folder": "ok", "graph": "ok", "source": "FAILED"}
    assert done.stderr == "sheaf: 1 thing does not work yet\n"


def test_a_seed_that_the_source_does_not_know_is_told(tmp_path: Path, world: World) -> None:
    done = check(tmp_path, "--no-media", "--seed", "/c/en/dgo", source=world.url)
    assert done.returncode == 2 and "/c/en/dgo" in done.stdout


def test_a_provider_that_refuses_and_a_notice_that_is_not_taken_are_told(
    tmp_path: Path, world: World
) -> None:
    with MediaWorld(down=lambda name, _paths: name == "openverse") as media, Hook() as hook:
        config = media.settings(tmp_path)
        refusing = hook.address("/no")
        done = check(tmp_path, "--config", config, source=world.url, notices=refusing)
    failed = [name for name, mark in marks(done).items() if mark == "FAILED"]
    assert failed == ["provider openverse", "notice address 1 (JSON)"]
    assert done.returncode == 3 and "s3cr" not in done.stdout + done.stderr


def test_without_a_contact_strangers_are_not_asked_for_weeks(tmp_path: Path, world: World) -> None:
    config = tmp_path / "sheaf.toml"
    config.write_text('[extend]\nproviders = ["pexels", "commons"]\nimages = 1\n')
    proxies = f"http://127.0.0.1:{closed_port()}"  # so that nobody outside is asked here
    done = check(tmp_path, "--config", config, source=world.url, proxies=proxies)
    assert marks(done)["contact"] == "FAILED" and "[http]" in done.stdout


@pytest.mark.parametrize("name", ["state", "media"])
def test_a_folder_that_cannot_be_made_is_told(
    tmp_path: Path, world: World, media: MediaWorld, name: str
) -> None:
    (tmp_path / "file").write_text("")
    place = tmp_path / "file" / "folder"
    config = media.settings(tmp_path)
    done = check(tmp_path, f"--{name}", place, "--config", config, source=world.url)
    assert marks(done)[f"{name} folder"] == "FAILED"
    assert done.returncode == 5


def test_a_disk_with_less_than_the_reserve_is_told(tmp_path: Path, world: World) -> None:
    config = tmp_path / "sheaf.toml"
    config.write_text(f"reserve_bytes = {10**17}\n")
    done = check(tmp_path, "--no-media", "--config", config, source=world.url)
    assert marks(done)["state folder"] == "FAILED" and "make room" in done.stdout


def test_an_assertions_file_is_opened(tmp_path: Path) -> None:
    (tmp_path / "empty.csv").write_text("")
    for name in ("empty.csv", "missing.csv"):
        done = check(tmp_path, "--no-media", source=str(tmp_path / name))
        assert done.returncode == 2 and marks(done)["source"] == "FAILED"
