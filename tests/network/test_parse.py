"""What answers in JSON cost in memory, whatever they hold and however they are packed."""

from __future__ import annotations

import gzip
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor, TimeoutError
from typing import Any

import orjson
import pytest

from tests.support.command import ROOT, clean_environment
from tests.support.worlds.files import FileServer
from tools.errors import GiveUp
from tools.network import parse
from tools.network.parse import parsed
from tools.network.settings import HttpSettings

WORKERS = 8
LIMIT = HttpSettings().max_bytes
MOST_EACH = 7 * LIMIT  # the body twice, what it says, and what reading it takes

ASKING = """
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier, Event
from tools.errors import HarvestError
from tools.network.client import Client
from tools.providers import parse as answer
from tools.conceptnet.rules import RELATIONS, Filter
from tools.network.settings import HttpSettings
from tools.conceptnet.api import ApiSource

host, path, workers = sys.argv[1], sys.argv[2], int(sys.argv[3])
client = Client(HttpSettings(tries=1), None, Event(), trusted=[host])
source = ApiSource(f"http://{host}", client, Filter.of(["en"], 1.0, RELATIONS, True))
together = Barrier(workers)

def peak():
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM"))

def ask(number):
    together.wait(30)
    try:
        found = source.page(path) if number % 2 else answer.ask(client, f"http://{host}{path}")
    except HarvestError as error:
        found = error
    together.wait(60)  # everybody holds what it got
    return str(found)[:80]

before = peak()
with ThreadPoolExecutor(workers) as threads:
    said = set(threads.map(ask, range(workers)))
print(peak() - before, *said)
"""


def filled(piece: bytes, size: int = LIMIT, path: str = "/file/0") -> bytes:
    """A page of as many of these as fit."""
    head, tail = b'{"@id":"%s","edges":[' % path.encode(), b"null]}"
    count = (size - len(head) - len(tail)) // (len(piece) + 1)
    return head + (piece + b",") * count + tail


def just_bearable() -> bytes:
    """As many values as are read, in as many bytes."""
    lists = filled(b"[]", parse.MOST_VALUES * 3 // 2 - 200)
    return lists[:-6] + b'"' + b"x" * (LIMIT - len(lists) - 10) + b'"]}'


SHAPES = {
    "lists": filled(b"[]"),
    "objects": filled(b'{"":[]}'),
    "texts": filled('"\u0101"'.encode()),
    "many": filled(b"[]", 49_000_000),
    "just bearable": just_bearable(),
}


@pytest.mark.parametrize("shape", SHAPES)
def test_a_page_costs_a_few_times_its_limit_in_each_worker(shape: str) -> None:
    with FileServer() as server:
        packed = gzip.compress(SHAPES[shape], 1)
        address = server.offer(packed, "application/json", ("Content-Encoding", "gzip"))
        host, _, path = address.removeprefix("http://").partition("/")
        done = subprocess.run(
            [sys.executable, "-c", ASKING, host, f"/{path}", str(WORKERS)],
            cwd=ROOT, env=clean_environment(), capture_output=True, text=True, timeout=120,
        )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert int(done.stdout.split()[0]) < WORKERS * MOST_EACH, done.stdout


def test_an_answer_with_too_many_values_is_given_up() -> None:
    with pytest.raises(GiveUp, match="more than 500,000 values"):
        parsed(SHAPES["lists"])


def test_an_honest_page_is_far_from_any_limit() -> None:
    edge = {name: {"@id": "/c/en/x" * 5, "label": "x"} for name in ("rel", "start", "end")}
    page = orjson.dumps({"edges": [{**edge, "sources": [{"@id": "/s/x", "a": "b"}] * 40}] * 1000})
    assert len(page) > parse.LARGE
    assert len(parsed(page)["edges"]) == 1000


def test_large_answers_are_read_one_at_a_time_and_small_ones_meanwhile() -> None:
    large: Any = b'"' + b"x" * parse.LARGE + b'"'
    with ThreadPoolExecutor(1) as thread:
        with parse._large_ones:
            waiting = thread.submit(parsed, large)
            assert parsed(b'{"a": 1}') == {"a": 1}
            with pytest.raises(TimeoutError):
                waiting.result(0.1)
        assert len(waiting.result(60)) == parse.LARGE


@pytest.mark.parametrize("body", [b"", b"{", b"NaN", b"\xff", b"[" * 5000, b'"\\ud800"'])
def test_what_is_no_json_is_a_value_error(body: bytes) -> None:
    with pytest.raises(ValueError):
        parsed(body)
