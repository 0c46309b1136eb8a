"""What the log holds, and what never does."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest

from tests.support.command import ROOT, harvest_flags, run
from tests.support.worlds.conceptnet import World, hub
from tests.support.worlds.proxies import HttpProxy
from tools import VERSION
from tools.assist.run_log import changes
from tools.providers.settings import ExtendSettings
from tools.settings import Settings

SEED = "/c/en/hub"
SECRETS = {
    "SHEAF_FLICKR_KEY": "flickr0key",
    "SHEAF_FREESOUND_KEY": "freesound0key",
    "SHEAF_PEXELS_KEY": "pexels0key",
    "SHEAF_GIPHY_KEY": "giphy0key",
    "SHEAF_OPENVERSE_KEY": "openverse0key",
    "SHEAF_NEO4J_PASSWORD": "neo4j0password",
    "SHEAF_TRANSPORT_SECRET": "transport0secret",
    "SHEAF_TRANSPORT_PASSPHRASE": "pass0phrase",
}


def log_of(folder: Path) -> list[str]:
    return (folder / "state" / "log").read_text("utf-8").splitlines()


def test_the_version_is_that_of_the_project() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    assert project["version"] == VERSION


def test_a_folder_is_written_as_it_is_typed() -> None:
    assert [*changes(Settings(media=Path("a b")), Settings())] == ["media='a b'"]


def test_a_good_run_says_how_it_began_and_how_it_ended(tmp_path: Path) -> None:
    with World(hub(60)) as world:
        done = run("main.py", *harvest_flags(tmp_path, world.url, SEED, "--limit", 20))
    assert (done.returncode, done.stderr) == (0, "")
    first, last = log_of(tmp_path)
    assert f"INFO    Sheaf {VERSION} (Python 3." in first and "begins: main.py --source" in first
    for part in ("--limit 20; settings", "seeds=('/c/en/hub',)", "limit=20", "extend.images=0"):
        assert part in first, first
    ended = (
        r"INFO    ended after \d+ s: the limit is reached; .*; to_fetch=\d+ .*finished=20 failed=0"
    )
    assert re.search(ended, last)


def test_a_run_that_ends_badly_says_why(tmp_path: Path) -> None:
    with World(hub(60)) as world:
        run("main.py", *harvest_flags(tmp_path, world.url, SEED, "--limit", 20))
    done = run("main.py", *harvest_flags(tmp_path, "http://127.0.0.1:9", SEED))
    assert done.returncode == 3 and len(done.stderr.splitlines()) == 1
    *_, last = log_of(tmp_path)
    assert "ended after" in last and "http://127.0.0.1:9 cannot be reached" in last


def test_every_step_is_logged_on_request(tmp_path: Path) -> None:
    places = ("--state", tmp_path / "state", "--media", tmp_path / "m", "-v")
    done = run("main.py", "--sample", "--limit", 4, *places)
    assert done.returncode == 0, done.stderr
    text = "\n".join(log_of(tmp_path))
    for pattern in (
        r"Monitor fetch hands out /c/en/pet$",
        r"Worker fetch begins /c/en/pet \(attempt 1\)$",
        r"GET http://127\.0\.0\.1:\d+/c/en/pet: HTTP 200, \d+ bytes in \d\.\d+ s$",
        r"Worker fetch ends /c/en/pet after \d\.\d+ s: \d+ found for fetch, \d+ found for extend,",
        r"moved /c/en/pet from on_fetch to to_extend$",
        r"Worker extend ends /c/en/pet after \d+\.\d+ s: .*1 media image \w+",
        r"commons offers \d+ of image for /c/en/pet$",
        r"commons image http://127\.0\.0\.1:\d+/\S+ kept as en/pet/image/0\.jpg$",
        r"(commons|openverse) \w+ \S+ refused: ",
        r"Assist: snapshot took \d+\.\d+ s: 000001-",
    ):
        assert re.search(f"(?m) DEBUG   {pattern}", text), pattern
    assert len(set(re.findall(r"DEBUG   Worker", done.stderr))) == 1, "whoever asks sees it, too"


def test_without_the_wish_nothing_of_it_is_logged(tmp_path: Path) -> None:
    places = ("--state", tmp_path / "state", "--media", tmp_path / "m")
    assert run("main.py", "--sample", "--limit", 2, *places).returncode == 0
    assert not [line for line in log_of(tmp_path) if "DEBUG" in line or "Worker" in line]


def test_no_secret_is_in_any_log(tmp_path: Path) -> None:
    """Every one there is, at the level that tells most; those that are used, used."""
    with HttpProxy("me", "proxy0word") as proxy, World(hub(20)) as world:
        names = ("flickr", "freesound", "pexels", "giphy", "openverse")
        servers = "".join(f'{name} = "{world.url}"\n' for name in names)
        config = tmp_path / "sheaf.toml"
        config.write_text(
            f"attempts = 1\n[extend]\nrest_s = 0.1\nproviders = {list(names)}\n"
            f"[extend.servers]\n{servers}[http]\ntries = 1\n",
            encoding="utf-8",
        )
        source = world.url.replace("//", "//me:source0word@") + "/?token=query0word"
        secrets: dict[str, Any] = {
            **SECRETS,
            "SHEAF_PROXIES": proxy.url_with_password,
            "SHEAF_NOTICES": "json://me:notice0word@127.0.0.1:9/",
        }
        for address in (source, world.url):
            flags = ("--source", address, "--seed", SEED, "--config", config, "--limit", 2, "-v")
            places = ("--state", tmp_path / "state", "--media", tmp_path / "m", "--log-json")
            done = run("main.py", *flags, *places, **secrets)
            assert "Traceback" not in done.stderr
        assert proxy.asked
    text = (tmp_path / "state" / "log").read_text("utf-8") + done.stderr + done.stdout
    assert "GET http" in text and "through http://127.0.0.1" in text and "flickr" in text
    for word in ("0key", "0password", "0secret", "0phrase", "0word"):
        assert word not in text, word


@pytest.mark.parametrize("secret", ["keys", "servers"])
def test_a_setting_shows_no_secret(secret: str) -> None:
    told = {
        "keys": ExtendSettings(keys={"flickr": "hunter2"}),
        "servers": ExtendSettings(servers={"flickr": "http://me:hunter2@h/?key=hunter2"}),
    }
    shown = list(changes(Settings(extend=told[secret]), Settings()))
    assert "hunter2" not in "".join(shown)
    assert shown == ([] if secret == "keys" else ["extend.servers={'flickr': 'http://h/'}"])
