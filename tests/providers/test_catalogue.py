"""One list of providers: a new one is a module and a line."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path
from threading import Event

import pytest

import tools
from tools.errors import UsageError
from tools.network.client import Client
from tools.network.settings import HttpSettings
from tools.providers.catalogue import KNOWN, limits, opened, usable
from tools.providers.names import NEED_KEY, PROVIDERS, TAKE_KEY, USUAL
from tools.providers.settings import ExtendSettings

SHELF = """
from .commons import LIMITS, Commons

BASE = "https://shelf.example.org"


class Shelf(Commons):
    name = "shelf"
"""
ASK = """
from pathlib import Path
from tools import settings

Path("sheaf.toml").write_text("[extend]\\nproviders = ['shelf']\\n")
extend = settings.load(None, {}).extend
from tools.providers import catalogue
from threading import Event
from tools.network.client import Client
from tools.network.settings import HttpSettings
[provider] = catalogue.opened(extend, Client(HttpSettings(), None, Event()))
print("shelf" in settings.Settings().extend.providers, extend.keys)
print(provider.name, catalogue.base_of("shelf", extend), *catalogue.limits(extend))
"""
LOADED = """
import sys, tools.settings
tools.settings.load(None, {})
print(*(name for name in sys.modules if name.startswith("tools.providers.")))
print(*(name for name in ("urllib3", "PIL", "numpy", "paramiko", "apscheduler", "neo4j", "ssl")
    if name in sys.modules))
"""
NOBODY = Client(HttpSettings(), None, Event())


def said(script: str, folder: Path, **environment: str) -> list[str]:
    command = [sys.executable, "-c", script]
    done = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_a_new_provider_is_a_module_and_a_line(tmp_path: Path) -> None:
    ours = Path(tools.__file__).parent
    copy = tmp_path / "tools"
    shutil.copytree(ours, copy, ignore=shutil.ignore_patterns("__pycache__", "sample"))
    (copy / "providers" / "shelf.py").write_text(SHELF)
    names = copy / "providers" / "names.py"
    line = '    "commons": Listed("Commons"),\n'
    text = names.read_text()
    assert text.count(line) == 1
    names.write_text(text.replace(line, line + '    "shelf": Listed("Shelf", key="required"),\n'))
    is_usual, found = said(ASK, tmp_path, SHEAF_SHELF_KEY="k")
    assert is_usual == "True {'shelf': 'k'}"
    assert found.startswith("shelf https://shelf.example.org commons.wikimedia.org")


def test_settings_are_read_without_anything_heavy(tmp_path: Path) -> None:
    folder = Path(tools.__file__).parents[1]
    ours, theirs = said(LOADED, tmp_path, PYTHONPATH=str(folder))
    assert ours.split() == ["tools.providers.names", "tools.providers.settings"]
    assert not theirs


def test_those_asked_by_default_are_all_but_the_internet_archive() -> None:
    assert set(PROVIDERS) - set(USUAL) == {"archive"}
    assert set(TAKE_KEY) - set(NEED_KEY) == {"openverse"}


@pytest.mark.parametrize("name", PROVIDERS)
def test_a_module_holds_what_its_line_says(name: str) -> None:
    made = KNOWN[name].make(NOBODY, (), key="k")
    assert made.name == name
    assert made.is_link_only == KNOWN[name].is_link_only
    if name in NEED_KEY:
        with pytest.raises(UsageError, match="key"):
            KNOWN[name].make(NOBODY, ())
    else:
        assert KNOWN[name].make(NOBODY, ()).name == name


def test_without_a_key_those_that_need_one_are_left_out() -> None:
    assert usable(ExtendSettings()) == ["commons", "openverse", "inaturalist"]
    extend = ExtendSettings(providers=("pexels", "giphy"), keys={"pexels": "k"})
    assert usable(extend) == ["pexels"]
    assert [each.name for each in opened(extend, NOBODY)] == ["pexels"]


@pytest.mark.parametrize("keys", [{}, {"giphy": "k"}])
def test_one_that_only_lends_links_is_not_enough(keys: dict[str, str]) -> None:
    with pytest.raises(UsageError, match=r"needs no key \(commons, openverse, \.\.\.\)"):
        opened(ExtendSettings(providers=("giphy",), keys=keys), NOBODY)


def test_a_key_of_openverse_allows_more() -> None:
    [without] = limits(ExtendSettings(providers=("openverse",))).values()
    chosen = ExtendSettings(providers=("openverse",), keys={"openverse": "k"})
    [with_key] = limits(chosen).values()
    assert (without.rates, with_key.rates) == (
        ("20/minute", "200/day"),
        ("100/minute", "10000/day"),
    )
