"""Parsers that do what they should not: each ends in time with its reason, nothing is left of it,
and the next document finds a parser that is well."""

from __future__ import annotations

import os
import signal
import threading
import time

import pytest

from tests.structure.conftest import WELL, Bench, parser, script, until
from tools.base.resident import resident_of
from tools.errors import GiveUp

pytestmark = pytest.mark.timeout(60)
REGEX = "import re\nre.match(r'(a+)+$', 'a' * 60 + 'b')"
JUNK = """import os
for fd in range(256):
    try: os.write(fd, b'junk' * 20)
    except OSError: pass
return 1"""
SETSID = """import os, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        time.sleep(600)
    os._exit(0)
"""

HOSTILE: dict[str, tuple[str, str | tuple[str, ...]]] = {
    "loops": ("while True: pass", "not done within 1 s"),
    "sleeps": ("import time\ntime.sleep(600)", "not done within 1 s"),
    "matches without end": (REGEX, "not done within 1 s"),
    "ignores signals": (
        "import signal\nfor n in (1, 2, 15, 24): signal.signal(n, signal.SIG_IGN)\n"
        "while True: pass",
        "not done within 1 s",
    ),
    "eats memory": (
        "x = []\nwhile True: x.append(bytearray(1 << 20))",
        "more than 100 MB of memory",
    ),
    "eats memory at once": ("return len(bytearray(1 << 34))", "more than 100 MB of memory"),
    "has no memory for JSON": (
        "import orjson\norjson.loads(b'[' + b'1,' * 12_000_000 + b'1]')",
        "more than 100 MB of memory",
    ),
    "eats shared memory": (
        "import mmap\nx = []\n"
        "while True: x.append(mmap.mmap(-1, 1 << 20)); x[-1].write(bytes(1 << 20))",
        "more than 100 MB of memory",
    ),
    "breaks": ("import ctypes\nctypes.string_at(0)", "ended by signal 11 (segmentation fault)"),
    "aborts": ("import os\nos.abort()", "ended by signal 6 (aborted)"),
    "kills itself": ("import os\nos.kill(os.getpid(), 9)", "ended by signal 9 (killed)"),
    "ends": ("import os\nos._exit(3)", "ended its process itself (exit code 3)"),
    "forks and ends": (f"{SETSID}os._exit(4)", "ended its process itself (exit code 4)"),
    "forks and loops": (f"{SETSID}while True: pass", "not done within 1 s"),
    "closes files": (
        "import os\nos.closerange(0, 256)\nreturn 1",
        ("it closed", "ended its process"),
    ),
    "writes to files": (JUNK, "it wrote to files that are not its own"),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_it_ends_in_time_and_the_next_document_is_well(bench: Bench, name: str) -> None:
    body, reason = HOSTILE[name]
    hostile, other = parser(body), script(WELL, name="parsers/other.py")
    assert bench.parse(hostile, b"good").json == b'{"length":4}'
    assert bench.parse(other).json == b'{"length":3}'
    began = time.monotonic()

    with pytest.raises(GiveUp) as failure:
        bench.parse(hostile)

    assert time.monotonic() - began < 2.0
    said = str(failure.value)
    assert said.startswith(reason), said
    assert len(said) <= 560 and said.isprintable()
    assert bench.parse(hostile, b"good").json == b'{"length":4}'
    assert bench.parse(other).json == b'{"length":3}'
    assert len(bench.processes()) == 2 * (3 if bench.is_tight else 1)


def test_memory_is_never_above_its_limit_by_more_than_a_tenth(bench: Bench) -> None:
    """However fast it grows: what is resident is watched from outside as often as can be."""
    peak, stop = [0], threading.Event()

    def watch() -> None:
        while not stop.is_set():
            for pid in bench.processes():
                peak[0] = max(peak[0], resident_of(pid, 0))

    thread = threading.Thread(target=watch)
    thread.start()
    eater = parser("x = bytearray()\nwhile True: x += b'x' * 5_000_000")
    for _ in range(3):
        with pytest.raises(GiveUp, match=r"more than 100 MB of memory"):
            bench.parse(eater)
    stop.set()
    thread.join()

    assert 30_000_000 < peak[0] < 110_000_000


def test_what_several_processes_have_is_counted_together(bench: Bench) -> None:
    """Each of them alone is within the limit."""
    body = """import os, time
for _ in range(4):
    if os.fork() == 0:
        x = bytearray(os.urandom(1)) * 40_000_000
        time.sleep(600)
time.sleep(600)"""
    with pytest.raises(GiveUp, match=r"more than 100 MB of memory"):
        bench.parse(parser(body))
    assert until(lambda: not bench.processes())


def test_what_forked_processes_share_is_counted_once(bench: Bench) -> None:
    body = """import os, time
x = b'x' * 40_000_000
pids = [os.fork() for _ in range(1)]
for _ in range(2):
    if 0 not in pids: pids.append(os.fork())
if 0 in pids:
    time.sleep(0.4)
    os._exit(0)
for pid in pids: os.waitpid(pid, 0)
return len(pids)"""
    assert bench.parse(parser(body)).json == b"3"


def test_a_parser_that_forked_and_comes_back_twice_answers_once(bench: Bench) -> None:
    forks = parser("import os\nreturn [os.fork() > 0]")
    for _ in range(3):
        assert bench.parse(forks).json == b"[true]"
        assert bench.parse(forks, b"good").json == b'{"length":4}'


def test_who_leaves_the_group_and_outlives_the_document_is_ended(bench: Bench) -> None:
    for _ in range(5):  # it may be about to leave just when it is looked for
        assert bench.parse(parser(f"{SETSID}return [1]")).json == b"[1]"
        assert until(lambda: not bench.processes(), 1.0)


def test_an_orphan_in_a_session_of_its_own_is_ended(bench: Bench) -> None:
    """Its parent is gone and waited for before the parser answers."""
    body = """import os, time
child = os.fork()
if child == 0:
    os.setsid()
    if os.fork() == 0:
        time.sleep(600)
    os._exit(0)
os.waitpid(child, 0)
return [1]"""
    assert bench.parse(parser(body)).json == b"[1]"
    assert until(lambda: not bench.processes(), 1.0)


def test_a_script_that_never_comes_to_its_class(bench: Bench) -> None:
    with pytest.raises(GiveUp, match=r"not done within 1 s"):
        bench.parse(script("while True: pass"))


def test_a_thread_that_is_left_behind_ends_with_its_process(bench: Bench) -> None:
    body = "import threading, time\nthreading.Thread(target=time.sleep, args=(600,)).start()"
    assert bench.parse(parser(f"{body}\nreturn [1]")).json == b"[1]"
    assert until(lambda: not bench.processes(), 1.0)


def test_what_it_prints_is_heard_to_the_end_of_a_few_lines(bench: Bench) -> None:
    prints = parser("for n in range(50_000): print('line', n)\nreturn [1]")
    answered = bench.parse(prints)
    assert answered.said.endswith("line 49999\n") and len(answered.said) <= 4000
    assert bench.parse(prints, b"good").said == ""


def test_files_it_leaves_are_gone_with_the_document(bench: Bench) -> None:
    body = "import os\nseen = os.listdir('.')\nos.makedirs('a/b')\nopen('a/b/c', 'w').write('x')\n"
    body += "import tempfile\ntempfile.mkstemp()\nreturn seen"
    leaves = parser(body)

    assert [bench.parse(leaves).json for _ in range(2)] == [b"[]", b"[]"]
    assert not [*bench.folder.glob("*/*")]


def test_a_large_document_and_a_large_answer(bench: Bench) -> None:
    raw = os.urandom(10_000_000)
    assert bench.parse(script(WELL), raw).json == b'{"length":10000000}'
    assert len(bench.parse(parser("return ['x' * 99_000]")).json) == 99_004


def test_who_does_not_read_what_it_is_given_is_ended_in_time(bench: Bench) -> None:
    bench.parse(script(WELL))
    for pid in bench.processes():
        os.kill(pid, signal.SIGSTOP)
    began = time.monotonic()

    with pytest.raises(GiveUp, match=r"not done within 1 s"):
        bench.parse(script(WELL), bytes(5_000_000))

    assert time.monotonic() - began < 2.0
    assert bench.parse(script(WELL), bytes(5_000_000)).json == b'{"length":5000000}'
