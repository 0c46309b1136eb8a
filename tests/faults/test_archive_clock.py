"""The full files of a crawl go to the node on the third hour, though nobody asks for it."""

from __future__ import annotations

from pathlib import Path
from random import Random
from socket import socket
from threading import Event

from tests.faults.injection import Clock, Process, wait_until
from tests.support.crawl import command, environment, rows
from tests.support.shipped import new_node, raw, receive, sha256_of
from tests.support.worlds.faults import Request, answer
from tests.support.worlds.hostile_site import HostileSite, page

PAGES = 12
FULL = "SELECT name, sha256 FROM files WHERE closed_at IS NOT NULL"
ARRIVED = f"{FULL} AND shipped_at IS NOT NULL"


def put_pages(site: HostileSite, may_end: Event) -> None:
    """Larger than a file of the archive together; the last one is held."""

    def held(_: socket, __: Request) -> bytes:
        may_end.wait(60)
        return page(text="at last")

    texts = {f"/{each}": Random(each).randbytes(3000).hex() for each in range(PAGES)}
    site.put("/", page(*texts, "/held"))
    site.put_all({url: answer(200, text.encode(), "text/plain") for url, text in texts.items()})
    site.put("/held", held)


def test_full_files_go_out_by_the_clock_while_it_crawls(tmp_path: Path) -> None:
    clock, folder, may_end = Clock(tmp_path / "offset"), tmp_path / "crawl", Event()
    clock.at("2030-06-01T10:20:00")
    folder.mkdir()
    with HostileSite() as site, new_node("sshd", tmp_path / "node") as node:
        put_pages(site, may_end)
        (folder / "sheaf.toml").write_text(node.settings(volume_mb=0.05))
        settings = environment({"per_host": 1, "archive_file_mb": 0.01, "timeout_s": 90})
        places = {"config": "sheaf.toml", "state": "state-pages", "archive": "archive"}
        flags = [each for name, file in places.items() for each in (f"--{name}", folder / file)]
        words = command("--seed", site.at("/"), *flags)
        with Process(tmp_path / "said", words, **settings | dict(clock.environment)) as process:
            wait_until(lambda: bool(site.targets()["/held"]), "all pages but the last")
            wait_until(lambda: len(rows(folder, FULL)) > 1, "files that are full")
            full = set(rows(folder, FULL))
            assert list(raw(node).iterdir()) == [], "it is not yet time"
            clock.at("2030-06-01T11:59:59.800")
            wait_until(lambda: full <= set(rows(folder, ARRIVED)), "the node to have them")
            may_end.set()
            assert process.end() == 0, process.log
        receive(node.folder)
        there = {path.name: sha256_of(path) for path in node.folder.glob("archive/**/*.warc.gz")}
        assert {(Path(name).name, digest) for name, digest in full} <= set(there.items())
        assert len(there) == len(rows(folder, ARRIVED)) == len(rows(folder, FULL))
