"""A crawl whose archive is shipped, killed anywhere: the next one completes it, and the node has
each file once, as it was written."""

from __future__ import annotations

import json
import os
import shutil
import signal
import sqlite3
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path

import pytest

from tests.faults.injection import Process, injected, main_py, run, wait_until
from tests.support.crawl import QUICK
from tests.support.node import ParamikoNode
from tests.support.shipped import receive, sha256_of

SETTINGS = {**QUICK, "SHEAF_PAGES_ARCHIVE_FILE_MB": "0.01"}
BY_HASH, BY_RECEIPT = (
    (
        *("rename:when=1", "rename:when=2", "sendto:when=9", "fsync:when=3", "unlink:when=4"),
        *("unlink:when=7", "fsync:when=4", "unlinkat:when=2"),
    ),
    ("fdatasync:when=2", "unlink:when=3", "unlinkat:when=1"),
)
KILLS = [*((True, kill) for kill in BY_HASH), *((False, kill) for kill in BY_RECEIPT)]
"""A batch is listed, volumes are marked as sent, files marked in the table, erased, forgotten."""


@pytest.fixture(params=[True, False], ids=["by hash", "by receipt"])
def node(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[ParamikoNode]:
    (tmp_path / "node").mkdir()
    with ParamikoNode(tmp_path / "node", shell=request.param) as node:
        yield node


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a crawl that knew no node; to be copied."""
    folder = tmp_path_factory.mktemp("garden")
    code, process = run(folder, crawl(folder), **SETTINGS)
    assert code == 0, process.log
    return folder


def places(folder: Path) -> list[str]:
    return ["--config", str(folder / "sheaf.toml"), "--state", str(folder / "state-pages")]


def crawl(folder: Path, *flags: object) -> list[str]:
    (folder / "sheaf.toml").touch()
    archive = ("--archive", folder / "archive", "--depth", 3, "--per-host", 5)
    return main_py("pages", "--sample", "-q", *archive, *flags, *places(folder))


def ship(folder: Path) -> list[str]:
    return main_py("ship", "-q", "--archive", folder / "archive", *places(folder))


def set_node(folder: Path, node: ParamikoNode, erases: bool) -> None:
    small = {"volume_mb": 0.025, "receipt_s": 0, "erase_archives": erases}
    (folder / "sheaf.toml").write_text(node.settings(**small))


def closed(folder: Path) -> dict[str, tuple[str, str | None]]:
    """Hash and moment of shipping, by name."""
    question = "SELECT name, sha256, shipped_at FROM files WHERE closed_at IS NOT NULL"
    with closing(sqlite3.connect(folder / "state-pages/pages.db")) as db:
        return {name: (sha256, shipped) for name, sha256, shipped in db.execute(question)}


def here(folder: Path) -> set[str]:
    archive = folder / "archive"
    return {path.relative_to(archive).as_posix() for path in archive.glob("*/*/*.warc.gz")}


def there(node: ParamikoNode) -> dict[str, str]:
    found = node.folder.glob("archive/*/*/*/*.warc.gz")
    return {path.relative_to(path.parents[2]).as_posix(): sha256_of(path) for path in found}


def done(folder: Path, command: list[str]) -> None:
    code, process = run(folder / "said", command, **SETTINGS)
    assert code == 0, process.log


def assert_shipped(folder: Path, node: ParamikoNode) -> None:
    """After one more shipping, or two where only a receipt tells."""
    done(folder, ship(folder))
    receive(node.folder)
    done(folder, ship(folder))
    files = closed(folder)
    assert there(node) == {name: sha256 for name, (sha256, _) in files.items()}
    assert all(shipped for _, shipped in files.values())
    outbox = folder / "archive/.outbox"
    assert {each.name for each in outbox.iterdir()} <= {"LOCK", "SHIPPED.jsonl"}
    told = [json.loads(line) for line in (outbox / "SHIPPED.jsonl").read_text().splitlines()]
    assert sum(each["files"] for each in told) >= len(files)


@pytest.mark.parametrize(("node", "kill"), KILLS, indirect=["node"])
def test_a_shipping_that_was_killed_is_completed(
    node: ParamikoNode, whole: Path, tmp_path: Path, kill: str
) -> None:
    folder = shutil.copytree(whole, tmp_path / "crawl")
    set_node(folder, node, erases=True)
    if not node.runs_sha256sum:
        done(folder, ship(folder))
        receive(node.folder)
    call, _, when = kill.partition(":")
    code, process = run(
        folder / "said", [*injected(f"{call}:signal=SIGKILL:{when}"), *ship(folder)], **SETTINGS
    )
    assert code == -signal.SIGKILL, process.log
    marked = {name for name, (_, shipped) in closed(folder).items() if shipped}
    assert closed(folder).keys() - here(folder) <= marked, "erased before it was marked"
    assert_shipped(folder, node)
    assert not here(folder) & closed(folder).keys()
    done(folder, main_py("pages", "check", "-q", "--archive", folder / "archive", *places(folder)))


def test_a_crawl_that_was_killed_ships_each_file_once(node: ParamikoNode, tmp_path: Path) -> None:
    """Its clock does not strike meanwhile: what is shipped is what its end ships."""
    folder = tmp_path / "crawl"
    folder.mkdir()
    set_node(folder, node, erases=False)
    slow = {**SETTINGS, "SHEAF_PAGES_DELAY_S": "0.02"}
    with Process(folder / "said", crawl(folder, "--delay", 0.02), **slow) as process:
        wait_until(lambda: count_closed(folder) >= 2 or not process.is_running)
        os.kill(process.pid, signal.SIGKILL)
    assert count_closed(folder) >= 2
    done(folder, crawl(folder))
    assert_shipped(folder, node)
    assert here(folder) == closed(folder).keys(), "nothing is erased unless that is wanted"
    done(folder, main_py("pages", "check", "-q", "--archive", folder / "archive", *places(folder)))


def count_closed(folder: Path) -> int:
    with suppress(sqlite3.Error):
        return len(closed(folder))
    return 0
