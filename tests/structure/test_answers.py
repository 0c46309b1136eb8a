"""What a script may be and may say, and with which reason everything else fails."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.structure.conftest import Bench, parser, script
from tools.errors import GiveUp
from tools.structure.registry import Limits
from tools.structure.sandbox import Sandbox

pytestmark = pytest.mark.timeout(60)
WRONG = {
    "is interrupted": ("raise KeyboardInterrupt", "KeyboardInterrupt (own.py, line 4)"),
    "exits": ("import sys\nsys.exit('enough')", "SystemExit: enough (own.py, line 5)"),
    "says nothing": ("pass", "it returned nothing (None)"),
    "says null": ("return 'null'", "it returned nothing (null)"),
    "says too much": ("return 'x' * 200_000", "its answer is text, but not JSON"),
    "says too much JSON": ("return ['x' * 200_000]", "its answer is longer than 100,000 bytes"),
    "says text": ("return 'hello'", "its answer is text, but not JSON"),
    "says bytes": ("return b'\\xff\\x00'", "its answer is text, but not JSON"),
    "says an object": ("return object()", "its answer is not JSON: Type is not JSON serializable"),
    "says bytes inside": ("return [b'x']", "its answer is not JSON: Type is not JSON serializable"),
    "says itself": ("x = []\nx.append(x)\nreturn x", "its answer is not JSON: Recursion limit"),
    "says NaN": ("return [1.5, float('nan')]", "its answer is not JSON: it has NaN"),
    "says half a pair": ("return ['\\ud800']", "its answer is not JSON: str is not valid UTF-8"),
    "says half a pair as text": ("return '\"\\ud800\"'", "its answer is text, but not JSON"),
    "recurses": ("return self.parse(raw)", "RecursionError: maximum recursion depth exceeded"),
    "raises at length": ("raise ValueError('x' * 10_000_000)", "ValueError: xxxxxxxx"),
    "raises what has no words": (
        "class Mute(Exception):\n    def __str__(self): raise ValueError\nraise Mute",
        "Mute (own.py, line 6)",
    ),
    "reads what is asked": ("return input()", "EOFError: EOF when reading a line"),
    "imports what is not there": (
        "import nosuchpackage",
        "ModuleNotFoundError: No module named 'nosuchpackage' (own.py, line 4)",
    ),
}


@pytest.fixture(scope="module")
def bench() -> Iterator[Bench]:
    """One for all: none of these costs a process."""
    bench = Bench(Limits(timeout_s=20.0, max_json=100_000), Sandbox())
    yield bench
    bench.hosts.close()


@pytest.mark.parametrize("name", WRONG)
def test_what_is_no_answer_fails_and_the_process_stays(bench: Bench, name: str) -> None:
    body, reason = WRONG[name]
    wrong = parser(body)
    bench.parse(wrong, b"good")
    processes = bench.processes()

    with pytest.raises(GiveUp) as failure:
        bench.parse(wrong)

    said = str(failure.value)
    assert said.startswith(reason), said
    assert len(said) <= 560 and said.isprintable()
    assert bench.parse(wrong, b"good").json == b'{"length":4}'
    assert bench.processes() == processes


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("class RawParser:\n    def parse(self raw):", "SyntaxError: "),
        ("x = 1", "the script has no class RawParser"),
        ("RawParser = 3", "the script has no class RawParser"),
        ("class RawParser: pass", "its RawParser has no method parse(self, raw)"),
        ("raise ValueError('no')", "ValueError: no (own.py, line 1)"),
        ("\0", "source code string cannot contain null bytes"),
        ("# coding: utf-7-and-a-half\n", "SyntaxError: "),
        ("class RawParser:\n    def __init__(self, x): pass", "TypeError: "),
    ],
)
def test_a_script_that_is_none(bench: Bench, text: str, reason: str) -> None:
    for _ in range(2):
        with pytest.raises(GiveUp) as failure:
            bench.parse(script(text))
        assert reason in str(failure.value)


@pytest.mark.parametrize(
    ("method", "answer"),
    [
        ("def parse(self, raw): return {'a': 1}", b'{"a":1}'),
        ("def parser(self, raw): return '{\"a\": 1e2}'", b'{"a": 1e2}'),
        ("def parse(self, raw, about): return about['source']", None),
        ("def parse(self, raw, about): return [about['source'], len(raw)]", b'["a.html",3]'),
        ("def parse(self, *given): return [len(given)]", b"[2]"),
        ("def parse(self, raw, about=None): return [about['type']]", b"[null]"),
        ("@staticmethod\n    def parse(raw): return {2013: (1, 2)}", b'{"2013":[1,2]}'),
        ("@classmethod\n    def parse(cls, raw): return b'[1]'", b"[1]"),
        ("def parse(self, raw): return {'年': '中', 'f': 0.1}", '{"年":"中","f":0.1}'.encode()),
        ("def parse(self, raw): return False", b"false"),
    ],
)
def test_what_a_script_may_be(bench: Bench, method: str, answer: bytes | None) -> None:
    written = script(f"class RawParser:\n    {method}")
    if answer is None:
        with pytest.raises(GiveUp, match=r"text, but not JSON"):
            bench.parse(written)
    else:
        assert bench.parse(written).json == answer
