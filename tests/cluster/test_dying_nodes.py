"""A node that is killed between any two things it writes, stopped, and drained: the harvest ends as
if nothing had happened."""

from __future__ import annotations

import signal
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from tests.cluster.dying import STEPS
from tests.cluster.test_harvest_on_nodes import OWN, alone, settings
from tests.soak.compare import Essence, differences
from tests.support.cluster import Cluster, until
from tests.support.command import run
from tests.support.nats_server import running_nats

__all__ = ["alone", "settings"]  # fixtures


@pytest.fixture
def cluster(tmp_path: Path, settings: str) -> Iterator[Cluster]:
    with (
        running_nats(tmp_path / "server") as server,
        Cluster(tmp_path, server, settings, OWN) as cluster,
    ):
        yield cluster


def has_begun(cluster: Cluster, times: int) -> bool:
    return cluster.log("beta").count("we work for the job") == times


@pytest.mark.timeout(300)
def test_it_ends_as_if_nothing_had_happened(cluster: Cluster, alone: Essence) -> None:
    harvest = cluster.start("-q")
    for step in STEPS:
        cluster.prefixes["alpha"] = (sys.executable, "-m", "tests.cluster.dying", step)
        cluster.start_node("alpha", "--threads", "1")
        code = cluster.processes["alpha"].wait(120)
        assert code == -signal.SIGKILL, f"{step}: {cluster.log('alpha')}"
    assert harvest.poll() is None, "there is something left to do"

    for times, how in enumerate(("SIGTERM", "drain"), 1):
        cluster.start_node("beta", "--threads", "1")
        begun = partial(has_begun, cluster, times)
        until(begun, "beta works", 60)
        if how == "SIGTERM":
            cluster.kill("beta", signal.SIGTERM)
        else:
            assert run("main.py", "cluster", "drain", "beta", cwd=cluster.home).returncode == 0
        assert cluster.processes["beta"].wait(60) == 0, cluster.log("beta")

    left = cluster.folder / "alpha" / "m" / "en" / "bark" / "audio" / "0.part"
    left.parent.mkdir(parents=True, exist_ok=True)
    left.write_bytes(b"what a node that was killed had of a file that another one has now")
    cluster.prefixes.clear()
    for name in ("alpha", "beta"):
        cluster.start_node(name, "--once")
    assert harvest.wait(200) == 0, cluster.log("coordinator")
    for name in ("alpha", "beta"):
        assert cluster.processes[name].wait(60) == 0, cluster.log(name)
    assert differences(alone, cluster.essence(["alpha", "beta"])) == []
