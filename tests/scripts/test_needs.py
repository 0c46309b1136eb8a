"""scripts/test-needs installs what the tests use, or says how. Every program it calls is a stand-in
here: nothing is installed or written on the computer that runs the tests."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.support.command import ROOT

NOTE = 'echo "${0##*/} $*" >> "$CALLS"'
LOUD_NOTE = f"{NOTE}; echo noise"
ROOT_USER, OTHER_USER = "echo 0", "echo 1000"
PACKAGES = ["apache2-doc", "cppreference-doc-en-html", "postgresql-doc-9", "postgresql-doc-15"]
STAND_INS = {
    **dict.fromkeys(["mkdir", "touch", "rm", "tee"], NOTE),
    "apt-cache": f"printf '%s\\n' {' '.join(PACKAGES)} python3.11-doc python3.9-doc-html",
    "dpkg": f'{NOTE}; /bin/mkdir -p "$3/usr"',
}
REAL = ("env", "timeout", "true", "grep", "sort", "tail", "mktemp", "mv")


def run_needs(folder: Path, programs: dict[str, str], **environment: str) -> str:
    """What it says with these programs in its PATH."""
    for name, text in (STAND_INS | programs).items():
        (folder / name).write_text(f"#!/bin/sh\n{text}\n", encoding="utf-8")
        (folder / name).chmod(0o755)
    for name in REAL:
        (folder / name).symlink_to(f"/usr/bin/{name}")
    done = subprocess.run(
        ["/bin/bash", str(ROOT / "scripts/test-needs")],
        env={
            **{"PATH": str(folder), "CALLS": str(folder / "calls"), "TMPDIR": str(folder)},
            **{"SHEAF_TEST_MANUALS": str(folder / "manuals"), **environment},
        },
        capture_output=True,
        text=True,
        timeout=30,
    )
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def calls(folder: Path, program: str) -> list[str]:
    """The last word of each call."""
    lines = (folder / "calls").read_text(encoding="utf-8").splitlines()
    return [line.split(" ")[-1] for line in lines if line.startswith(f"{program} ")]


def test_what_is_there_is_not_installed(tmp_path: Path) -> None:
    there = {"chromium": "", "mvn": "", "java": "", "initdb": "", "mariadbd": "", "ip": ""}
    said = run_needs(tmp_path, {"id": ROOT_USER, "apt-get": NOTE, **there})
    assert "chromium" not in said and "maven" not in said and "strace" in said
    assert "postgresql " not in said and "mariadb" not in said and "iproute2" not in said


def test_what_is_missing_is_installed(tmp_path: Path) -> None:
    said = run_needs(tmp_path, {"id": ROOT_USER, "apt-get": LOUD_NOTE})
    assert said.startswith("test-needs: installing chromium") and "noise" not in said
    assert calls(tmp_path, "apt-get")[:3] == ["update", "chromium", "strace"]
    assert calls(tmp_path, "apt-get")[-6:-4] == ["iproute2", "maven"]


def test_manuals_are_unpacked_the_newest_of_each(tmp_path: Path) -> None:
    run_needs(tmp_path, {"id": ROOT_USER, "apt-get": NOTE})
    wanted = {"apache2-doc", "cppreference-doc-en-html", "postgresql-doc-15", "python3.11-doc"}
    assert {*calls(tmp_path, "apt-get")[-4:]} == wanted
    assert {path.name for path in (tmp_path / "manuals").iterdir()} == wanted


def test_a_manual_that_is_there_or_cannot_be_had_stops_nothing(tmp_path: Path) -> None:
    for name in ("python3.12/html", "postgresql-doc-17/html"):
        (tmp_path / "manuals/of others/usr/share/doc" / name).mkdir(parents=True)
    said = run_needs(tmp_path, {"id": ROOT_USER, "apt-get": NOTE, "dpkg": "exit 1"})
    assert said.count("could not be unpacked") == 2
    assert "postgresql-doc" not in said and "python" not in said


def test_a_neo4j_that_is_there_needs_no_maven(tmp_path: Path) -> None:
    given = {"SHEAF_TEST_NEO4J": "neo4j://127.0.0.1:7687"}
    assert "maven" not in run_needs(tmp_path, {"id": ROOT_USER, "apt-get": NOTE}, **given)


@pytest.mark.parametrize("ci", ["true", ""])
def test_who_is_not_root_is_told_the_command_unless_changes_are_judged(
    tmp_path: Path, ci: str
) -> None:
    sudo = {"sudo": 'shift; exec "$@"', "id": OTHER_USER, "apt-get": NOTE}
    said = run_needs(tmp_path, sudo, CI=ci)
    if ci:
        assert "chromium" in calls(tmp_path, "apt-get")
    else:
        assert "sudo apt-get install --no-install-recommends chromium strace" in said
        assert not (tmp_path / "calls").exists()


@pytest.mark.parametrize("user", [ROOT_USER, OTHER_USER])
def test_where_nothing_can_be_installed_that_is_no_error(tmp_path: Path, user: str) -> None:
    programs = {"id": user} if user == ROOT_USER else {"id": user, "apt-get": "exit 9"}
    assert "cannot be installed" in run_needs(tmp_path, programs, CI="true")
