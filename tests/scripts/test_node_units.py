"""Nodes and their server as services and as jobs: what systemd thinks, what Slurm's signal does."""

from __future__ import annotations

import json
import re
import shlex
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.story.test_operating import EXPOSURE, analyze
from tests.support.command import ROOT, clean_environment
from tests.support.nats_server import nats_program
from tools.commands.parsing import parsed
from tools.errors import AlreadyRunning, NothingHarvested, StateDamaged, UsageError

NATS, NODE = (ROOT / "scripts" / f"sheaf-{name}.service" for name in ("nats", "node"))
BATCH = ROOT / "scripts/sheaf-node.sbatch"
PATIENCE_S = 30
STAND_IN = """
import json, pathlib, signal, sys, time
heard = []
signal.signal(signal.SIGTERM, lambda number, frame: heard.append(number))
place = pathlib.Path(sys.argv[sys.argv.index("--media") + 1]).parent
(place / "words").write_text(json.dumps(sys.argv[1:]))
print("at work", flush=True)
until = time.monotonic() + 60
while not heard and time.monotonic() < until and {stays}:
    time.sleep(0.01)
time.sleep({grace})
(place / "heard").write_text(str(len(heard)))
sys.exit({code})
"""


# --- systemd ---------------------------------------------------------------------------------


def unit_here(unit: Path, folder: Path) -> Path:
    """The unit for the programs of these tests: systemd looks whether they are there."""
    text = unit.read_text(encoding="utf-8").replace("/opt/sheaf/.venv/bin/python", sys.executable)
    if unit == NATS:
        text = text.replace("/usr/sbin/nats-server", str(nats_program()))
    (folder / unit.name).write_text(text.replace("/opt/sheaf", str(ROOT)))
    return folder / unit.name


def values(unit: Path, key: str) -> list[str]:
    return re.findall(rf"^{key}=(.*)$", unit.read_text(encoding="utf-8"), re.MULTILINE)


@pytest.mark.parametrize("unit", [NATS, NODE], ids=lambda unit: unit.name)
def test_systemd_has_nothing_to_say_against_it(unit: Path, tmp_path: Path) -> None:
    file = unit_here(unit, tmp_path)
    done = analyze("verify", "--man=no", "--recursive-errors=no", file)
    assert (done.returncode, done.stdout + done.stderr) == (0, "")
    done = analyze("security", "--no-pager", "--offline=true", f"--threshold={EXPOSURE}", file)
    assert done.returncode == 0, done.stdout


def test_the_server_is_found_by_the_commands_that_reload_it() -> None:
    """They look for a process that works in the cluster's folder on its nats.conf."""
    (command,) = values(NATS, "ExecStart")
    assert shlex.split(command)[1:] == ["-c", "nats.conf"]
    assert values(NATS, "WorkingDirectory") == ["/var/lib/sheaf/cluster"]
    assert values(NATS, "User") == values(ROOT / "scripts/sheaf.service", "User")


def test_the_nodes_command_is_understood() -> None:
    (command,) = values(NODE, "ExecStart")
    options = parsed(shlex.split(command)[2:])
    assert (options.verb, options.join, options.media) == ("node", Path("node.sheaf"), "m")


def test_what_does_not_pass_by_itself_is_not_tried_again() -> None:
    lasting = {
        each.exit_code for each in (UsageError, AlreadyRunning, StateDamaged, NothingHarvested)
    }
    (codes,) = values(NODE, "RestartPreventExitStatus")
    assert {int(code) for code in codes.split()} == lasting | {130}


# --- Slurm -----------------------------------------------------------------------------------


class Job:
    """The script as Slurm runs one job of the array, with a stand-in for the node."""

    def __init__(self, folder: Path, code: int, stays: bool = True, grace: float = 0.0) -> None:
        (folder / "code").mkdir()
        text = STAND_IN.format(stays=stays, code=code, grace=grace)
        (folder / "code/main.py").write_text(text)
        self.place = folder / "a place" / "lab-7"
        self.process = subprocess.Popen(
            ["bash", BATCH], cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, text=True,
            env=clean_environment(
                SHEAF_CODE=str(folder / "code"), SHEAF_PYTHON=sys.executable,
                SHEAF_KEYS=str(folder / "keys"), SHEAF_NODES="lab",
                SHEAF_PLACE=str(folder / "a place"), SLURM_ARRAY_TASK_ID="7",
            ),
        )  # fmt: skip

    def wait_for_work(self) -> None:
        assert self.process.stdout is not None
        assert self.process.stdout.readline() == "at work\n"

    def end(self) -> tuple[int, str]:
        """Its code, and how many signals the node has heard."""
        _, errors = self.process.communicate(timeout=PATIENCE_S)
        assert errors == ""
        return self.process.returncode, (self.place / "heard").read_text()


def test_slurm_is_asked_for_an_array_and_a_signal_in_time() -> None:
    asked = " ".join(re.findall(r"^#SBATCH (.*)$", BATCH.read_text(), re.MULTILINE)).split()
    assert "--array=1-20" in asked and "--signal=B:TERM@120" in asked
    assert BATCH.read_text().index("#SBATCH") < BATCH.read_text().index("set -euo")


def test_a_job_takes_its_own_key(tmp_path: Path) -> None:
    job = Job(tmp_path, code=0, stays=False)
    assert job.end() == (0, "0")
    words = json.loads((job.place / "words").read_text())
    assert words[:3] == ["node", "--join", str(tmp_path / "keys/lab-7.sheaf")]
    assert words[3:] == ["--media", str(job.place / "m"), "--state", str(job.place / "state")]
    options = parsed(words)
    assert (options.verb, options.state) == ("node", str(job.place / "state"))


@pytest.mark.parametrize("code", [0, 3, 130])
def test_the_code_of_the_node_is_that_of_the_job(tmp_path: Path, code: int) -> None:
    assert Job(tmp_path, code, stays=False).end() == (code, "0")


@pytest.mark.parametrize("code", [0, 3])
def test_a_signal_reaches_the_node_which_is_waited_for(tmp_path: Path, code: int) -> None:
    job = Job(tmp_path, code, grace=0.3)
    job.wait_for_work()
    job.process.send_signal(signal.SIGTERM)
    assert job.end() == (code, "1")


def test_further_signals_do_not_reach_the_node(tmp_path: Path) -> None:
    """A second one would end it without its tasks."""
    job = Job(tmp_path, 3, grace=1.0)
    job.wait_for_work()
    for _ in range(50):
        job.process.send_signal(signal.SIGTERM)
    assert job.end() == (3, "1")


def test_outside_an_array_it_says_so(tmp_path: Path) -> None:
    environment = clean_environment(HOME=str(tmp_path))
    environment.pop("SLURM_ARRAY_TASK_ID", None)
    done = subprocess.run(
        ["bash", BATCH], cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=30
    )
    assert done.returncode != 0 and "is this a job of an array?" in done.stderr
    assert list(tmp_path.iterdir()) == []
