"""`pip install .` gives the command `sheaf` and the package `sheaf`, and nothing else."""

from __future__ import annotations

import json
import re
import tomllib
from email import message_from_string
from pathlib import Path
from zipfile import ZipFile

import pytest

from tests.support.command import ROOT, says
from tests.support.installed import Environment, built, files_in
from tools import VERSION
from tools.base.extras import EXTRAS
from tools.commands.verbs import VERBS

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
CORE: list[str] = PROJECT["dependencies"]
OPTIONAL: dict[str, list[str]] = PROJECT["optional-dependencies"]
MODULES = {"nats_py": "nats"}  # what is imported, where the package has another name
NODE = """[transport]
host = "node"
user = "me"
folder = "in"
agent = true
known_hosts = "ship.toml"
"""
SAMPLE = ("--sample", "--no-media", "-q")


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return built(tmp_path_factory.mktemp("built"))


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory, wheel: Path) -> Environment:
    """Without any extra."""
    return Environment(tmp_path_factory.mktemp("installed"), wheel, CORE)


def test_core_and_extras_are_the_requirements() -> None:
    lines = (ROOT / "requirements.txt").read_text("utf-8").splitlines()
    listed = [line for line in lines if line and not line.startswith("#")]
    single = {name: wanted for name, wanted in OPTIONAL.items() if name != "all"}
    assert sorted(listed) == sorted([*CORE, *(each for many in single.values() for each in many)])
    assert OPTIONAL["all"] == [f"sheaf[{','.join(single)}]"]
    packages = {
        MODULES.get(found := re.split(r"[\[<>=]", each)[0].replace("-", "_").lower(), found): name
        for name in single
        for each in single[name]
    }
    assert packages == EXTRAS


def test_it_says_what_it_needs(wheel: Path) -> None:
    with ZipFile(wheel) as archive:
        text = archive.read(f"sheaf-{VERSION}.dist-info/METADATA").decode()
    described = message_from_string(text)
    needed = described.get_all("Requires-Dist") or []
    assert len([each for each in needed if "extra ==" not in each]) == len(CORE)
    assert set(described.get_all("Provides-Extra") or []) == set(OPTIONAL)
    assert (described["Version"], described["Requires-Python"]) == (VERSION, ">=3.11")


def test_all_of_the_package_is_installed_and_nothing_else(wheel: Path) -> None:
    folder = ROOT / "tools"
    paths = (path for path in folder.rglob("*") if path.is_file())
    ours = {
        f"sheaf/{path.relative_to(folder).as_posix()}"
        for path in paths
        if "__pycache__" not in path.parts
    }
    assert {"sheaf/py.typed", "sheaf/sample/world.tsv", "sheaf/sheets/page.css"} <= ours
    assert "sheaf/sheets/templates/file.html" in ours
    papers = {name for name in files_in(wheel) if name.startswith(f"sheaf-{VERSION}.dist-info/")}
    assert files_in(wheel) - papers == ours


def test_the_command_runs_in_an_empty_folder(installed: Environment, tmp_path: Path) -> None:
    done = installed.run("sheaf", "--version", cwd=tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (0, f"sheaf {VERSION}\n", "")
    done = installed.run("sheaf", "jobs", cwd=tmp_path)
    assert done.stdout.startswith("conceptnet ")
    assert not [*tmp_path.iterdir()]
    done = installed.run("python", "-m", "sheaf", "--version", cwd=tmp_path)
    assert done.stdout == f"sheaf {VERSION}\n"


def test_it_harvests_and_tells_and_clears(installed: Environment, tmp_path: Path) -> None:
    done = installed.run("sheaf", *SAMPLE, "--limit", 40, cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    done = installed.run("sheaf", "history", "--json", cwd=tmp_path)
    assert json.loads(done.stdout)["pools"]["finished"] == 40
    done = installed.run("sheaf", "clear", "--yes", cwd=tmp_path)
    assert done.returncode == 0 and "the graph is empty" in done.stdout


def test_media_of_the_sample_come_too(installed: Environment, tmp_path: Path) -> None:
    """Their servers run in a process of their own, and pages are made of them at the end."""
    done = installed.run("sheaf", "--sample", "--limit", 1, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "state/sheets/index.html").exists()
    assert "begins: " in (tmp_path / "state/log").read_text("utf-8")
    assert "begins: " not in done.stderr  # which only the log's own name for its module prevents


def test_documents_of_the_sample_become_rows_too(installed: Environment, tmp_path: Path) -> None:
    """Parsers run in processes that must find the package where it is installed."""
    done = installed.run("sheaf", "structure", "--sample", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "seeds: as the seed bank knows of itself: accession 4" in done.stdout


def test_programs_import_it(installed: Environment, tmp_path: Path) -> None:
    code = """
import sheaf, sheaf.graphs.open
counts = sheaf.harvest(sample=True, limit=5, with_media=False)
with sheaf.open_graph() as graph:
    assert graph.counts() == counts and sheaf.neighbours(graph, "pet")
    print(sheaf.VERSION, type(graph).__module__)
"""
    done = installed.run("python", "-c", code, cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == f"{VERSION} sheaf.graphs.sqlite\n"


def test_its_sentences_name_the_command(installed: Environment, tmp_path: Path) -> None:
    done = installed.run("sheaf", "history", cwd=tmp_path)
    assert says(done, 2).endswith("there is no harvest at state/pools.db yet: sheaf starts one")
    done = installed.run("sheaf", "--help", cwd=tmp_path)
    assert done.stdout.startswith("usage: sheaf ")
    done = installed.run("sheaf", "init", "--contact", "you@example.org", cwd=tmp_path)
    assert done.stdout == "sheaf.toml is written; `sheaf check` tries it, `sheaf` begins\n"
    done = installed.run("sheaf", "check", "--source", "http://127.0.0.1:9", cwd=tmp_path)
    assert "`sheaf mirror`" in done.stdout and ".py" not in done.stdout


def test_the_help_of_every_command_names_no_script(installed: Environment, tmp_path: Path) -> None:
    """There is none where it is installed."""
    helps = [installed.run("sheaf", verb, "--help", cwd=tmp_path).stdout for verb in VERBS]
    assert [text for text in helps if "examples:\n" not in text or ".py" in text] == []


@pytest.mark.parametrize(
    ("words", "package"),
    [
        ((*SAMPLE, "--graph", "neo4j://neo4j@127.0.0.1:9"), "neo4j"),
        (("export", "--format", "parquet", "out"), "pyarrow"),
        (("history", "--plot", "course.svg"), "matplotlib"),
        (("ship", "--config", "ship.toml"), "paramiko"),
        (("cluster", "init", "--address", "localhost"), "cryptography"),
        ((*SAMPLE, "--config", "notices.toml", "--state", "other"), "apprise"),
    ],
)
def test_who_lacks_an_extra_is_told_which(
    words: tuple[str, ...], package: str, installed: Environment, tmp_path: Path
) -> None:
    (tmp_path / "ship.toml").write_text(NODE)
    (tmp_path / "notices.toml").write_text('[notices]\nfile = "addresses"\n')
    (tmp_path / "addresses").write_text("json://127.0.0.1:9\n")
    (tmp_path / "addresses").chmod(0o600)
    if package in ("pyarrow", "matplotlib"):
        assert installed.run("sheaf", *SAMPLE, "--limit", 5, cwd=tmp_path).returncode == 0
    done = installed.run("sheaf", *words, cwd=tmp_path)
    expected = f"this needs the package {package}: pip install 'sheaf[{EXTRAS[package]}]'"
    assert says(done, 2).endswith(f": {expected}")


def test_who_has_the_extra_can_use_it(
    tmp_path_factory: pytest.TempPathFactory, wheel: Path, tmp_path: Path
) -> None:
    everything = [*CORE, *OPTIONAL["parquet"]]
    full = Environment(tmp_path_factory.mktemp("with-parquet"), wheel, everything)
    assert full.run("sheaf", *SAMPLE, "--limit", 5, cwd=tmp_path).returncode == 0
    done = full.run("sheaf", "export", "--format", "parquet", "out", "-q", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert (tmp_path / "out/entities.parquet").exists()
