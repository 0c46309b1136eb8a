"""A thousand hosts, of which nearly all want to be left alone, do not slow the others."""

from __future__ import annotations

import socket
import subprocess
import sys
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tests.support.crawl import command, environment, pages
from tests.support.worlds.faults import Request, answer
from tests.support.worlds.hostile_site import HostileSite, page
from tools.pages.analyse import Body

SLOW = [f"slow{number}.example" for number in range(990)]
FAST = [f"fast{number}.example" for number in range(10)]
PAGES_OF_ONE = 20
PATIENT = b"User-agent: *\nCrawl-delay: 500\n"


class Web(HostileSite):
    """All of them, behind one proxy."""

    def _answer(self, host: str, connection: socket.socket, request: Request) -> bytes:
        where = urlsplit(request.target)
        if where.path == "/robots.txt":
            return answer(200, PATIENT if where.netloc in SLOW else b"")
        return page(*(f"/{number}" for number in range(PAGES_OF_ONE - 1)), text=where.path)

    def asked_of(self, hosts: list[str]) -> list[float]:
        wanted = set(hosts)
        return [each.ended for each in self.asked if urlsplit(each.target).netloc in wanted]


MEASURED = """
import os, sys
started = os.spawnvp(os.P_NOWAIT, sys.argv[1], sys.argv[1:])
_, status, usage = os.wait4(started, 0)
print(usage.ru_maxrss)
sys.exit(os.waitstatus_to_exitcode(status))
"""
"""Runs a command and prints the kilobytes of memory it took at most."""


def test_hosts_that_want_a_pause_slow_no_others(tmp_path: Path) -> None:
    (tmp_path / "seeds.txt").write_text("".join(f"http://{host}/\n" for host in [*SLOW, *FAST]))
    with Web() as web:
        words = command("--seeds", "seeds.txt", "--depth", 1)
        proxied = environment({"per_host": 1, "crawl_delay_cap_s": 500}) | {
            "SHEAF_PROXIES": web.url
        }
        with subprocess.Popen(
            words, cwd=tmp_path, env=proxied, stderr=subprocess.DEVNULL
        ) as process:
            wanted = len(FAST) * (PAGES_OF_ONE + 1)  # and robots.txt
            try:
                web.wait_for(lambda: len(web.asked_of(FAST)) >= wanted)
                web.wait_for(lambda: len(web.asked_of(SLOW)) >= len(SLOW))
            finally:
                process.terminate()
        first_turn = max(web.asked_of(SLOW))
        assert len(web.asked_of(SLOW)) == len(SLOW)  # each its robots.txt, and then it rests
        assert len(web.asked_of(FAST)) == wanted
        fast = [moment for moment in web.asked_of(FAST) if moment > first_turn]
        assert max(fast, default=first_turn) - first_turn < 50  # of a pause of 500


def test_what_is_carried_from_stage_to_stage_says_how_heavy_it_is() -> None:
    assert sys.getsizeof(Body("http://h.example/", (), bytes(1_000_000))) > 1_000_000


@pytest.mark.parametrize("per_host, most", [(1, 350_000), (8, 450_000)])
def test_memory_is_bounded_whatever_the_pages_and_the_workers(
    tmp_path: Path, per_host: int, most: int
) -> None:
    def large(_: socket.socket, request: Request) -> bytes:
        return answer(200, request.target.encode() + b"<p>word " * 4_000_000, "text/html")

    with HostileSite() as site:
        targets = [f"/{number}" for number in range(12)]
        site.put("/", page(*targets))
        site.put_all(dict.fromkeys(targets, large))
        words = command("--seed", site.at("/"), "--per-host", per_host)
        alone = [sys.executable, "-c", MEASURED, *words]  # the memory of its starter counts, too
        done = subprocess.run(
            alone,
            cwd=tmp_path,
            env=environment({"per_host": per_host}),
            capture_output=True,
            check=True,
        )
        assert int(done.stdout) < most  # kB, of 380 MB that came
        remarks = {remark for _, remark in pages(tmp_path, site.lane()).values()}
        assert remarks == {None, "too large to be read for links (32,000,002 bytes)"} | {
            "too large to be read for links (32,000,003 bytes)"
        }
