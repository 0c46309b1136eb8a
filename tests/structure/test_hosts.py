"""The processes of parsers: whose they are, how long they stay, what they cost, when they end."""

from __future__ import annotations

import resource
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import pytest

from tests.structure.conftest import ABOUT, WELL, Bench, parser, script, until
from tools.errors import Interrupted, Unavailable
from tools.structure.hosts import KEPT, Hosts
from tools.structure.registry import Limits, Script
from tools.structure.sandbox import Sandbox

pytestmark = pytest.mark.timeout(60)


def test_a_script_is_given_its_options(bench: Bench) -> None:
    text = "class RawParser:\n    def __init__(self, unit): self.unit = unit\n"
    written = script(f"{text}    def parse(self, raw): return [self.unit]", unit="kg")
    assert bench.parse(written).json == b'["kg"]'


def test_a_process_is_used_again_until_its_script_is_another(bench: Bench) -> None:
    counts = "class RawParser:\n    n = 0\n    def parse(self, raw):\n        self.n += 1\n"
    counts += "        return [self.n]"
    assert [bench.parse(script(counts)).json for _ in range(3)] == [b"[1]", b"[2]", b"[3]"]
    assert bench.parse(script(counts + "  # edited")).json == b"[1]"
    other_limits = script(counts + "  # edited")._replace(limits=Limits(timeout_s=9))
    assert bench.parse(other_limits).json == b"[1]"
    assert len(bench.processes()) == (3 if bench.is_tight else 1)


def test_a_thread_keeps_a_few_processes(bench: Bench) -> None:
    for number in range(KEPT + 2):
        bench.parse(script(WELL, name=f"parsers/{number}.py"))
    assert until(lambda: len(bench.processes()) == KEPT * (3 if bench.is_tight else 1))


def test_the_environment_has_no_secrets(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHEAF_NEO4J_PASSWORD", "tea-and-milk")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "tea-and-milk")
    body = "import os\nreturn [dict(os.environ), open('/proc/self/environ').read(), __file__]"
    said = bench.parse(parser(body)).json
    assert b"tea-and-milk" not in said and b"SHEAF_" not in said


def test_many_threads_have_a_process_each(bench: Bench) -> None:
    found: dict[int, bytes] = {}

    def work(number: int) -> None:
        for _ in range(20):
            found[number] = bench.parse(script(WELL), bytes(number)).json

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()

    assert found == {number: b'{"length":%d}' % number for number in range(4)}
    bench.parse(script(WELL))  # whoever comes next clears away what ended threads have left
    assert until(lambda: len(bench.processes()) == (3 if bench.is_tight else 1))


def test_closing_interrupts_who_is_parsing(sandbox: Sandbox) -> None:
    bench = Bench(Limits(timeout_s=60), sandbox)
    caught: list[BaseException] = []

    def work() -> None:
        try:
            bench.parse(parser("while True: pass"))
        except BaseException as error:
            caught.append(error)

    thread = threading.Thread(target=work)
    thread.start()
    assert until(lambda: len(bench.processes()) > 0)
    time.sleep(0.2)
    bench.hosts.close()
    thread.join(5)

    assert [type(each) for each in caught] == [Interrupted]
    assert until(bench.is_clean)


def test_hosts_end_with_the_program_even_if_it_is_killed(
    sandbox: Sandbox, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In a place of their own: any other run would clear away what a killed one has left."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", None)
    program = f"""
import sys, threading
from tests.structure.conftest import Bench, parser
from tools.structure.registry import Limits
from tools.structure.sandbox import Sandbox
LOOPS = "open('loops', 'w').close()\\nwhile True: pass"
bench = Bench(Limits(timeout_s=60), Sandbox({sandbox.wrapping!r}))
print(bench.folder, flush=True)
threading.Thread(target=bench.parse, args=(parser(LOOPS),)).start()
"""
    process = subprocess.Popen(
        [sys.executable, "-c", program],
        stdout=subprocess.PIPE,
        text=True,
        cwd=Path(__file__).parents[2],
    )
    assert process.stdout is not None
    folder = Path(process.stdout.readline().strip())
    left = Bench(Limits(), Sandbox())
    left.hosts.close()
    left.folder = folder
    assert until(lambda: any(folder.glob("*/loops")), 20)
    assert left.processes()
    process.kill()
    process.wait()
    process.stdout.close()

    assert until(lambda: not left.processes())
    assert folder.exists()

    def is_cleared_away() -> bool:
        """By the next run; a lock is given up a moment after the process cannot be seen."""
        Hosts().close()
        return not folder.exists()

    assert until(is_cleared_away)


def test_a_document_costs_little() -> None:
    """Both processes together, for documents of the usual length."""
    raw = b'{"91A": {"people": [' + b",".join(b'{"name": "x%03d"}' % n for n in range(41)) + b"]}}"
    assert 700 < len(raw) < 800
    built_in = Script("json", b"", "1")
    before = _cpu()
    hosts = Hosts()
    for _ in range(2000):
        hosts.parse(built_in, raw, ABOUT)
    hosts.close()
    assert (_cpu() - before) / 2000 < 0.0006


def _cpu() -> float:
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(each.ru_utime + each.ru_stime for each in used)


def test_a_process_that_cannot_be_started_blames_no_document() -> None:
    hosts = Hosts(sandbox=Sandbox(("/bin/false",)))
    with pytest.raises(Unavailable, match=r"no parser can be started now"):
        hosts.parse(script(WELL), b"", ABOUT)
    hosts.close()
    hosts = Hosts(sandbox=Sandbox(("/no/such/program",)))
    with pytest.raises(Unavailable, match=r"No such file"):
        hosts.parse(script(WELL), b"", ABOUT)
    hosts.close()
