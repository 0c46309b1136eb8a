"""A harvest as a service that runs for weeks: its unit, its document, its move to another place."""

from __future__ import annotations

import io
import re
import shlex
import shutil
import signal
import sqlite3
import stat
import subprocess
import sys
from collections import defaultdict
from collections.abc import Collection, Iterator
from contextlib import closing
from pathlib import Path

import pytest
import soundfile

from tests.media.test_images import prove
from tests.story.test_media_harvest import (
    SEED,
    assert_sound,
    essence,
    flags,
    harvest,
    recorded,
    searches,
)
from tests.support import needs
from tests.support.command import ROOT, clean_environment, relations_of, run, says, start
from tests.support.worlds import files
from tests.support.worlds.conceptnet import World
from tests.support.worlds.media import MediaWorld
from tools.assist import assistant as assist
from tools.assist.notify import Notices
from tools.assist.settings import NoticeSettings
from tools.commands.parsing import parsed
from tools.engine import harvest as harvesting
from tools.errors import (
    AlreadyRunning,
    NothingHarvested,
    StateDamaged,
    StopHarvest,
    Unreachable,
    UsageError,
)
from tools.journal.snapshots import newest_good_snapshot, snapshot
from tools.settings import Settings

UNIT = ROOT / "scripts/sheaf.service"
DOCUMENT = (ROOT / "docs/operating.md").read_text(encoding="utf-8")
SECOND_SIGNAL = 130
EXPOSURE = 20  # of 100, as systemd-analyze counts it


# --- the unit ------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def unit() -> dict[str, list[str]]:
    """Its settings; some stand there several times."""
    found = defaultdict(list)
    for key, value in re.findall(r"^(\w+)=(.*)$", UNIT.read_text(encoding="utf-8"), re.MULTILINE):
        found[key].append(value)
    return found


def test_systemd_has_nothing_to_say_against_the_unit(tmp_path: Path) -> None:
    done = analyze("verify", "--man=no", "--recursive-errors=no", unit_here(tmp_path))
    assert (done.returncode, done.stdout + done.stderr) == (0, "")


def test_the_service_can_do_little_else(tmp_path: Path) -> None:
    file = unit_here(tmp_path)
    done = analyze("security", "--no-pager", "--offline=true", f"--threshold={EXPOSURE}", file)
    assert done.returncode == 0, done.stdout


def unit_here(folder: Path) -> Path:
    """The unit for the code of these tests: systemd looks whether its program is there."""
    file = folder / UNIT.name
    text = UNIT.read_text(encoding="utf-8").replace("/opt/sheaf/.venv/bin/python", sys.executable)
    file.write_text(text.replace("/opt/sheaf", str(ROOT)))
    return file


def analyze(*words: object) -> subprocess.CompletedProcess[str]:
    program = needs.program("systemd-analyze", "systemd")
    command = [program, *map(str, words)]
    return subprocess.run(command, capture_output=True, text=True, timeout=60)


def test_what_does_not_pass_by_itself_is_not_tried_again(unit: dict[str, list[str]]) -> None:
    lasting = {
        each.exit_code for each in (UsageError, AlreadyRunning, StateDamaged, NothingHarvested)
    }
    passing = {each.exit_code for each in (Unreachable, StopHarvest)}
    prevented = {int(code) for code in unit["RestartPreventExitStatus"][0].split()}
    assert unit["Restart"] == ["on-failure"]
    assert prevented == lasting | {SECOND_SIGNAL}
    assert not prevented & passing


def test_a_stop_has_the_time_it_may_take(unit: dict[str, list[str]]) -> None:
    settings = Settings()
    slowest = settings.stop_grace_s + harvesting.STORE_PATIENCE_S
    slowest += assist.PATIENCE_S + settings.notices.timeout_s
    (minutes,) = re.findall(r"^(\d+)min$", unit["TimeoutStopSec"][0])
    assert 60 * int(minutes) > 2 * slowest, "snapshot and pages take their time too"
    assert unit["KillSignal"] == ["SIGTERM"]


def test_the_unit_hides_nothing_that_the_harvest_reads(unit: dict[str, list[str]]) -> None:
    assert "ProcSubset" not in unit, "without /proc/stat a power cut looks like a damaged state"
    assert unit["MemoryDenyWriteExecute"] == ["yes"]


@pytest.mark.parametrize("form", files.SOUNDS)
def test_sounds_are_decoded_without_memory_that_can_be_run(
    form: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The unit forbids such memory, and callbacks into Python need it: every sound would be
    refused as damaged."""
    body = files.sound(form)

    class Forbidding:
        def __getattr__(self, name: str) -> object:
            if name == "callback":
                raise MemoryError("Cannot allocate write+execute memory")
            return getattr(ffi, name)

    ffi = soundfile._ffi
    monkeypatch.setattr(soundfile, "_ffi", Forbidding())
    with pytest.raises(MemoryError):
        soundfile.read(io.BytesIO(body))
    assert prove(body, tmp_path).duration == pytest.approx(1.0, abs=0.01)


def test_the_service_writes_into_its_folder_only_and_closes_it_to_others(
    tmp_path: Path, unit: dict[str, list[str]], world: World, media: MediaWorld
) -> None:
    code, folder = tmp_path / "opt", tmp_path / "var"
    shutil.copytree(ROOT / "tools", code / "tools", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "main.py", code)
    folder.mkdir(mode=0o700)
    top = f'source = "{world.url}"\nseeds = ["{SEED}"]\ndepth = 0\n'
    (folder / "sheaf.toml").write_text(top + media.settings(tmp_path).read_text())
    before = tree(code)

    python, script = shlex.split(unit["ExecStart"][0])
    assert (python, script) == ("/opt/sheaf/.venv/bin/python", "/opt/sheaf/main.py")
    assert unit["WorkingDirectory"] == [f"/var/lib/{unit['StateDirectory'][0]}"]
    environment = clean_environment(PYTHONDONTWRITEBYTECODE="1")
    command = [sys.executable, str(code / "main.py")]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, timeout=120)

    assert done.returncode == 0, done.stderr
    assert tree(code) == before
    assert (folder / "state/graph.db").exists() and (folder / "m/MEDIA.jsonl").exists()
    made = [each for name in ("state", "m") for each in tree(folder / name)]
    assert not [path for path in made if path.stat().st_mode & (stat.S_IRWXG | stat.S_IRWXO)]


def tree(folder: Path) -> dict[Path, int]:
    return {path: path.stat().st_mtime_ns for path in (folder, *folder.rglob("*"))}


# --- the document --------------------------------------------------------------------------


def documented() -> list[str]:
    """Every command for one of our scripts, in blocks and in sentences."""
    found = re.findall(r"(?:sheaf|python) ((?:main|history)\.py[^`\n#|]*)", DOCUMENT)
    return sorted({each.strip() for each in found})


@pytest.mark.parametrize("command", documented())
def test_every_command_of_the_document_is_understood(command: str) -> None:
    script, *words = shlex.split(command)
    parsed(words if script == "main.py" else ["history", *words])


def test_every_exit_code_is_explained() -> None:
    explained = [int(code) for code in re.findall(r"^\| (\d+) \|", DOCUMENT, re.MULTILINE)]
    fatal = (UsageError, Unreachable, AlreadyRunning, StopHarvest, StateDamaged, NothingHarvested)
    assert explained == sorted({0, 1, *(each.exit_code for each in fatal), SECOND_SIGNAL})


@pytest.mark.parametrize("address", re.findall(r"^(\w+://\S+)$", DOCUMENT, re.MULTILINE))
def test_every_address_for_notices_is_known_to_apprise(address: str) -> None:
    Notices(NoticeSettings(urls=(address,))).close(0.0)
    with pytest.raises(UsageError):
        Notices(NoticeSettings(urls=(f"un{address}",)))


# --- the move ------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory, world: World, media: MediaWorld) -> Path:
    folder = tmp_path_factory.mktemp("undisturbed") / "harvest"
    harvest(folder, world, media)
    return folder


@pytest.fixture
def half_way(tmp_path: Path, world: World, media: MediaWorld) -> Iterator[subprocess.Popen[str]]:
    """A harvest in `old` that has media for some and not for all."""
    process = start("main.py", *flags(tmp_path / "old", world, media))
    try:
        media.wait_for(len(media.paths) + 250, 60)
        yield process
    finally:  # else it would ask on while the next test counts
        process.kill()
        process.communicate(timeout=60)


def stop(process: subprocess.Popen[str]) -> None:
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=60)
    assert process.returncode == 0


def test_a_stopped_harvest_may_be_copied_as_it_is(
    tmp_path: Path,
    undisturbed: Path,
    half_way: subprocess.Popen[str],
    world: World,
    media: MediaWorld,
) -> None:
    stop(half_way)
    shutil.copytree(tmp_path / "old", tmp_path / "new")
    go_on(tmp_path / "new", undisturbed, world, media)


@pytest.mark.parametrize("is_running", [False, True], ids=["stopped", "running"])
def test_a_harvest_goes_on_from_a_backup(
    tmp_path: Path,
    undisturbed: Path,
    half_way: subprocess.Popen[str],
    world: World,
    media: MediaWorld,
    is_running: bool,
) -> None:
    old, new = tmp_path / "old", tmp_path / "new"
    if is_running:
        copy: Path | None = snapshot(old / "state/pools.db")
    else:
        stop(half_way)
        copy = newest_good_snapshot(old / "state/pools.db")
    assert copy is not None
    carry(copy, old, new)
    half_way.kill()
    half_way.wait(20)
    go_on(new, undisturbed, world, media, "--resume", new / copy.name)


def carry(copy: Path, old: Path, new: Path) -> None:
    """In this order: what is finished in the snapshot must be in the graph and on the disk."""
    new.mkdir()
    shutil.copy(copy, new)
    with closing(sqlite3.connect(old / "graph.db")) as graph:
        graph.execute("VACUUM INTO ?", (str(new / "graph.db"),))
    subprocess.run(["cp", "-a", old / "m", new / "m"], capture_output=True)  # files come and go


def go_on(
    new: Path, undisturbed: Path, world: World, media: MediaWorld, *resume: str | Path
) -> None:
    """It must end like the one that nobody disturbed, and fetch nothing that was finished."""
    moved = finished_in(Path(resume[-1]) if resume else new / "state/pools.db")
    whole = finished_in(undisturbed / "state/pools.db")
    assert set() < moved < whole, "it was not half way"
    fetched = times(new, moved)
    harvest(new, world, media, *resume)
    assert_sound(new)
    assert essence(new) == essence(undisturbed)
    assert relations_of(new) == relations_of(undisturbed)
    assert finished_in(new / "state/pools.db") == whole
    assert searches(new).keys() == searches(undisturbed).keys()
    assert times(new, moved) == fetched, "what was finished has been fetched again"


def times(folder: Path, owners: Collection[str]) -> dict[str, str | None]:
    """When the files of these were fetched."""
    known = recorded(folder).items()
    return {path: each.time for path, (owner, each) in known if owner in owners}


def finished_in(file: Path) -> set[str]:
    with closing(sqlite3.connect(f"file:{file}?mode=ro", uri=True)) as db:
        return {row[0] for row in db.execute("SELECT uri FROM uri WHERE pool = 0")}


def test_a_harvest_without_its_graph_does_not_go_on(
    tmp_path: Path, undisturbed: Path, world: World, media: MediaWorld
) -> None:
    newest = newest_good_snapshot(undisturbed / "state/pools.db")
    done = run("main.py", *flags(tmp_path / "new", world, media, "--resume", newest))
    assert "graph.db is gone, though" in says(done, 6)
    assert not (tmp_path / "new/state").exists() and not (tmp_path / "new/graph.db").exists()
