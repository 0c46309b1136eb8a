"""The archive of a crawl on its way to the node: what is there is what was crawled."""

from __future__ import annotations

import io
import json
import os
import re
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import chdir, closing, redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
from warcio.archiveiterator import ArchiveIterator

from main import main
from tests.support import garden_truth
from tests.support.command import clean_environment, run
from tests.support.node import Node
from tests.support.shipped import new_node, nodes, only_batch, raw, receive, sha256_of
from tools.archive.names import number_of

FILE_MB = "0.01"  # of some 60 kB
TABLE = "state-pages/pages.db"
PAGE = "garden.example/walk/1"


@pytest.fixture(params=["restricted"])
def node(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Node]:
    """The real sshd, which tells by receipts unless a test wants another."""
    with new_node(request.param, tmp_path / "node") as node:
        yield node


class Crawl:
    """In a folder of its own, with the node in its settings."""

    def __init__(self, folder: Path, node: Node, **changes: object) -> None:
        folder.mkdir()
        self.folder, self.node = folder, node
        self.set(**changes)

    def set(self, **changes: object) -> None:
        small = {"volume_mb": 0.03, "receipt_s": 0, "timeout_s": 10}
        (self.folder / "sheaf.toml").write_text(self.node.settings(**(small | changes)))

    def without_node(self) -> None:
        (self.folder / "sheaf.toml").write_text("")

    def run(self, *flags: object, depth: int = 3) -> None:
        code, said = self.ask("pages", "--sample", "--depth", depth, "--per-host", 5, "-q", *flags)
        assert code == 0, said

    def ship(self, *flags: object, exit_code: int = 0) -> str:
        code, said = self.ask("ship", *flags)
        assert code == exit_code, said
        return said

    def ask(self, *words: object) -> tuple[int, str]:
        """Exit code and what it said, in this process."""
        said, environment = io.StringIO(), clean_environment(SHEAF_PAGES_ARCHIVE_FILE_MB=FILE_MB)
        with (
            chdir(self.folder),
            patch.dict(os.environ, environment, clear=True),
            redirect_stdout(said),
            redirect_stderr(said),
        ):
            return main(list(map(str, words))), said.getvalue()

    def rows(self, question: str) -> list[Any]:
        with closing(sqlite3.connect(self.folder / TABLE)) as db:
            return db.execute(question).fetchall()

    def change(self, statement: str) -> None:
        with closing(sqlite3.connect(self.folder / TABLE)) as db, db:
            assert db.execute(statement).rowcount > 0

    @property
    def harvest(self) -> str:
        return str(self.rows("SELECT id FROM harvest")[0][0])

    @property
    def files(self) -> dict[str, str]:
        """SHA-256 by name, as the table has them."""
        return dict(self.rows("SELECT name, sha256 FROM files WHERE closed_at IS NOT NULL"))

    @property
    def here(self) -> dict[str, str]:
        return warcs(self.folder / "archive")

    @property
    def there(self) -> dict[str, str]:
        return warcs(self.node.folder / "archive" / self.harvest[:8])

    @property
    def is_marked(self) -> bool:
        return not self.rows("SELECT 1 FROM files WHERE closed_at NOT NULL AND shipped_at IS NULL")

    @property
    def waiting(self) -> list[str]:
        return [each.name for each in (self.folder / "archive/.outbox").glob("*-*-????")]


def warcs(folder: Path) -> dict[str, str]:
    found = (path.relative_to(folder).as_posix() for path in folder.glob("*/*/*.warc.gz"))
    return {name: sha256_of(folder / name) for name in found}


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a crawl that knew no node; to be copied."""
    folder = tmp_path_factory.mktemp("garden")
    flags = ("--depth", 3, "--per-host", 5, "-q")
    small = {"SHEAF_PAGES_ARCHIVE_FILE_MB": FILE_MB}
    done = run("main.py", "pages", "--sample", *flags, cwd=folder, seconds=60, **small)
    assert done.returncode == 0, done.stderr
    return folder


@pytest.fixture
def crawl(tmp_path: Path, node: Node) -> Crawl:
    return Crawl(tmp_path / "crawl", node)


@pytest.fixture
def ended(crawl: Crawl, whole: Path) -> Crawl:
    """It has come to its end, and nobody has received anything yet."""
    shutil.copytree(whole, crawl.folder, dirs_exist_ok=True)
    crawl.set()
    crawl.run()
    assert len(crawl.files) > 3 and crawl.there == {}
    return crawl


# --- the whole way -----------------------------------------------------------------------------


def test_a_crawl_that_ended_by_itself_is_on_the_node_hash_by_hash(ended: Crawl) -> None:
    assert not ended.is_marked, "nobody has proven anything yet"
    receive(ended.node.folder)
    assert ended.there == ended.files == ended.here
    assert "arrived" in ended.ship("--job", "pages")
    assert ended.is_marked and ended.waiting == []
    assert "nothing to ship" in ended.ship()
    index = ended.node.folder / "archive" / ended.harvest[:8] / "index.cdxj"
    assert index.read_bytes() == (ended.folder / "archive/index.cdxj").read_bytes()
    assert not [*ended.folder.glob("archive/*/*/*.cdxj")], "what was made for the way is gone"
    captured = set(ended.rows("SELECT address FROM captures WHERE kind = 'response'"))
    assert read_by_others(ended.node.folder / "archive") == {address for (address,) in captured}


def read_by_others(folder: Path) -> set[str]:
    """The addresses of all answers, as warcio reads them."""
    found = set()
    for path in folder.glob("**/*.warc.gz"):
        with path.open("rb") as file:
            for record in ArchiveIterator(file):
                record.content_stream().read()
                if record.rec_type == "response":
                    found.add(record.rec_headers.get_header("WARC-Target-URI"))
    return found


@nodes("sshd", "paramiko")
def test_a_node_with_a_shell_proves_it_at_once(ended: Crawl) -> None:
    assert ended.is_marked and ended.waiting == []
    receive(ended.node.folder)
    assert ended.there == ended.files == ended.here


def test_of_a_crawl_that_was_stopped_only_full_files_go(crawl: Crawl) -> None:
    crawl.run("--limit", 30)
    assert 0 < len(crawl.files) < len(crawl.here)
    crawl.ship()
    receive(crawl.node.folder)
    assert crawl.there == crawl.files
    crawl.run()
    receive(crawl.node.folder)
    crawl.ship()
    assert crawl.there == crawl.files == crawl.here and crawl.is_marked


def test_a_dry_run_and_a_list_tell_of_it(crawl: Crawl, whole: Path) -> None:
    shutil.copytree(whole, crawl.folder, dirs_exist_ok=True)
    crawl.set()
    assert "MB of archives would become a batch; 0 wait" in crawl.ship("--dry-run")
    crawl.ship()
    assert "volumes sent, 0 proven" in crawl.ship("--list")
    shown = json.loads(run("history.py", "--json", cwd=crawl.folder).stdout)["page table"]
    assert (shown["files shipped"], shown["files to ship"]) == (0, len(crawl.files))
    receive(crawl.node.folder)
    crawl.ship()
    shown = run("history.py", cwd=crawl.folder).stdout
    assert re.search(rf"files shipped +{len(crawl.files)}\n", shown), shown


# --- erased or not -----------------------------------------------------------------------------


@pytest.fixture
def erased(ended: Crawl) -> Crawl:
    receive(ended.node.folder)
    ended.set(erase_archives=True)
    before = ended.files
    ended.ship()
    assert ended.here == {} and ended.there == before and ended.is_marked
    return ended


def test_what_was_shipped_and_erased_is_no_damage(erased: Crawl) -> None:
    before = erased.rows("SELECT url, state, fetched_at FROM pages ORDER BY url")
    erased.run()
    assert erased.rows("SELECT url, state, fetched_at FROM pages ORDER BY url") == before
    assert erased.ask("pages", "check")[0] == 0


def test_a_page_that_was_shipped_is_told_where_it_is(erased: Crawl) -> None:
    ((file,),) = erased.rows(
        f"SELECT file FROM captures JOIN pages ON pages.id = page WHERE url = '{PAGE}'"
    )
    place = f"{erased.node.host}:{erased.node.remote}/archive/{erased.harvest[:8]}/{file}"
    code, shown = erased.ask("pages", "show", PAGE)
    assert (code, shown.splitlines()[-1]) == (0, f"shipped to {place}")
    code, said = erased.ask("pages", "show", PAGE, "--body")
    assert (code, f"its body is not here: it was shipped to {place}" in said) == (2, True)


def test_what_comes_later_goes_into_files_of_other_names(erased: Crawl) -> None:
    before = erased.there
    erased.run(depth=5)
    new = {*erased.files} - {*before}
    assert new and not {number_of(each) for each in new} & {number_of(each) for each in before}
    receive(erased.node.folder)
    erased.ship()
    assert erased.there == erased.files and erased.here == {}
    index = erased.node.folder / "archive" / erased.harvest[:8] / "index.cdxj"
    assert index.read_bytes() == (erased.folder / "archive/index.cdxj").read_bytes()
    found = erased.rows("SELECT url, depth FROM pages WHERE state IN (1, 2)")
    depths = {url.removeprefix(garden_truth.HOST): depth for url, depth in found}
    assert depths == garden_truth.depths(5)


def test_without_the_mark_a_missing_file_is_asked_for_again(ended: Crawl) -> None:
    """That it is the mark by which the start knows."""
    ended.without_node()
    shutil.rmtree(ended.folder / "archive/.outbox")
    (lost, *_) = ended.here
    (ended.folder / "archive" / lost).unlink()
    ended.run()
    assert lost not in ended.files and ended.ask("pages", "check")[0] == 0


# --- trouble -----------------------------------------------------------------------------------


def test_a_volume_that_was_altered_on_the_node_is_sent_again(ended: Crawl) -> None:
    volume = only_batch(ended.node) / "00001.tar"
    content = bytearray(volume.read_bytes())
    content[1000] ^= 1
    volume.write_bytes(content)
    receive(ended.node.folder, exit_code=6)
    assert ended.there == {} and not ended.is_marked
    ended.set(erase_archives=True)
    assert "not confirmed" in ended.ship()
    assert ended.here == ended.files, "nothing is erased before it is proven"
    receive(ended.node.folder)
    ended.ship()
    assert ended.there == ended.files and ended.is_marked and ended.here == {}


def test_a_file_that_was_altered_here_stays_behind_and_is_told(crawl: Crawl, whole: Path) -> None:
    shutil.copytree(whole, crawl.folder, dirs_exist_ok=True)
    crawl.set(erase_archives=True)
    (file, *_) = crawl.files
    path = crawl.folder / "archive" / file
    content = bytearray(path.read_bytes())
    content[-30] ^= 1
    path.write_bytes(content)
    crawl.ship()
    receive(crawl.node.folder)
    crawl.ship()
    assert {*crawl.files} - {*crawl.there} == {file}
    assert {*crawl.here} & {*crawl.files} == {file}, "it is neither erased nor taken away"
    assert path.read_bytes() == content and not crawl.is_marked


def test_another_harvest_never_writes_over_the_first(ended: Crawl, tmp_path: Path) -> None:
    other = Crawl(tmp_path / "other", ended.node)
    other.run(depth=1)
    receive(ended.node.folder)
    assert other.harvest != ended.harvest
    assert (ended.there, other.there) == (ended.files, other.files)


def test_a_file_in_its_place_on_the_node_is_not_replaced(ended: Crawl) -> None:
    (file, *_) = ended.files
    strange = ended.node.folder / "archive" / ended.harvest[:8] / file
    strange.parent.mkdir(parents=True)
    strange.write_bytes(b"somebody else's")
    said = receive(ended.node.folder, exit_code=6)
    assert "is there already, and another one" in said
    assert strange.read_bytes() == b"somebody else's" and len(ended.there) == 1
    said = ended.ship(exit_code=3)
    assert "quarantine" in said and ended.here == ended.files and not ended.is_marked
    strange.unlink()
    (batch,) = ended.waiting
    ended.ship("--batch", batch)
    receive(ended.node.folder)
    ended.ship()
    assert ended.there == ended.files and ended.is_marked


def test_an_archive_of_another_crawl_is_not_shipped(ended: Crawl, tmp_path: Path) -> None:
    other = Crawl(tmp_path / "other", ended.node)
    other.without_node()
    other.run(depth=1)
    other.set()
    said = other.ship("--archive", ended.folder / "archive", exit_code=6)
    assert "holds the archive of a harvest that this state knows nothing of" in said


def test_a_lost_table_is_not_made_anew(ended: Crawl) -> None:
    (ended.folder / TABLE).unlink()
    assert "gone or another crawl's" in ended.ship(exit_code=6)
    assert not (ended.folder / TABLE).exists()


def test_check_tries_the_node_for_a_crawl_too(crawl: Crawl) -> None:
    code, said = crawl.ask("check", "--job", "pages")
    assert code == 0 and "receiving node" in said and "took a file, gave it back" in said, said
    assert [each.name for each in crawl.folder.iterdir()] == ["sheaf.toml"], "nothing is left"
    shutil.rmtree(raw(crawl.node))
    code, said = crawl.ask("check", "--job", "pages", "-q")
    assert code == 2 and "has no folder" in said
    assert crawl.ask("check", "--job", "nothing")[0] == 2
