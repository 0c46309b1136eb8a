"""The program of a parser's process: documents come in by one pipe, JSON goes out by another.

Promise: whatever a parser raises or returns is answered in one frame, and nothing a document left
behind (a file, a process, a thread) outlives it unsaid. What it prints goes to whoever started us.
Limit: what a parser does to its own process (it ends, never returns, closes every file) only
`hosts`, which started it, can see to. Nothing but the standard library and orjson is loaded before
a parser asks for more.
"""

from __future__ import annotations

import _thread
import errno
import importlib
import os
import resource
import shutil
import sys
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import orjson

from ..base.parent import belong_to
from ..errors import HarvestError
from .channel import FAILED, NO_MEMORY, WELL, Channel

if TYPE_CHECKING:
    import inspect

LONGEST_REASON = 500
NO_BUFFER = "Not enough memory to allocate buffer"  # so orjson says it, as if the JSON were wrong
MORE_MEMORY = 1.1  # of what may be resident, as addresses
METHODS = ("parse", "parser")
Parse = Callable[[bytes, Mapping[str, Any]], Any]


class Refused(Exception):
    """What the parser returned is no answer."""


class Host:
    """One script, for as many documents as come."""

    def __init__(self, channel: Channel, setup: Mapping[str, Any], text: bytes) -> None:
        self._channel = channel
        self._name: str = setup["name"]
        self._options: Mapping[str, Any] = setup["options"]
        self._text = text
        self._longest: int = setup["max_json"]
        self._cpu_s: float = setup["cpu_s"]
        self._folder: str = setup["folder"]
        self._parse: Parse | None = None
        self._pid = os.getpid()
        self._peak_before = _peak()
        self._resident = _resident()

    def work(self, number: int, about: bytes, raw: bytes) -> None:
        began = time.perf_counter()
        self._allow_more_time()
        state, content = self._result(about, raw)
        if os.getpid() != self._pid:  # the parser has forked, and both have come back
            os._exit(0)
        with suppress(Exception):
            sys.stdout.flush()
        is_spent = _has_children() or _thread._count() > 0
        self._clear_folder()
        seconds = time.perf_counter() - began
        self._channel.answer(number, state, content, is_spent, self._memory(), seconds)

    def _result(self, about: bytes, raw: bytes) -> tuple[int, bytes]:
        try:
            content = json_of((self._parse or self._load())(raw, orjson.loads(about)))
        except BaseException as error:
            if isinstance(error, MemoryError) or getattr(error, "errno", None) == errno.ENOMEM:
                return NO_MEMORY, b""
            reason = _reason(error, self._name)
            if NO_BUFFER in reason:
                return NO_MEMORY, b""
            return FAILED, reason.encode("utf-8", "replace")
        if len(content) > self._longest:
            return FAILED, f"its answer is longer than {self._longest:,} bytes".encode()
        return WELL, content

    def _load(self) -> Parse:
        """Again with every document for as long as it fails: what it lacks may be installed by
        now."""
        importlib.invalidate_caches()
        if self._text:
            names: dict[str, Any] = {"__name__": "parser", "__file__": self._name}
            exec(compile(self._text, self._name, "exec", dont_inherit=True), names)  # noqa: S102
        else:
            module = f".parsers.{self._name}"
            names = vars(importlib.import_module(module, __package__))
        self._parse = method_of(names, self._options)
        return self._parse

    def _allow_more_time(self) -> None:
        """For when whoever should end us cannot."""
        seconds = int(time.process_time() + self._cpu_s) + 1
        with suppress(ValueError, OSError):
            resource.setrlimit(resource.RLIMIT_CPU, (seconds, resource.RLIM_INFINITY))

    def _clear_folder(self) -> None:
        with suppress(OSError):
            for name in os.listdir(self._folder):  # noqa: PTH208  # cheaper, for every document
                path = os.path.join(self._folder, name)  # noqa: PTH118
                if os.path.isdir(path) and not os.path.islink(path):  # noqa: PTH112, PTH114
                    shutil.rmtree(path, ignore_errors=True)
                else:
                    os.unlink(path)  # noqa: PTH108

    def _memory(self) -> int:
        """A process that was started inherits the peak of who started it: only more is our own."""
        peak = _peak()
        return peak if peak > self._peak_before else self._resident


def method_of(names: Mapping[str, Any], options: Mapping[str, Any]) -> Parse:
    """`RawParser.parse(raw)`, `parse(raw, about)`, or `parser` instead of `parse`."""
    import inspect

    made = names.get("RawParser")
    if not callable(made):
        raise Refused("the script has no class RawParser")
    parser = made(**options)
    method = next((found for name in METHODS if (found := getattr(parser, name, None))), None)
    if not callable(method):
        raise Refused("its RawParser has no method parse(self, raw)")
    if _takes_two(inspect.signature(method)):
        return lambda raw, about: method(raw, about)
    return lambda raw, about: method(raw)


def _takes_two(signature: inspect.Signature) -> bool:
    kinds = [each.kind for each in signature.parameters.values()]
    by_place = [each for each in kinds if each.name.startswith("POSITIONAL")]
    return len(by_place) > 1 or any(each.name == "VAR_POSITIONAL" for each in kinds)


def json_of(answer: Any) -> bytes:
    """
    >>> json_of({"a": [1, None]}), json_of('{"a": 1}'), json_of({2013: "x"})
    (b'{"a":[1,null]}', b'{"a": 1}', b'{"2013":"x"}')
    """
    if answer is None:
        raise Refused("it returned nothing (None)")
    if isinstance(answer, str | bytes | bytearray):
        return _checked_text(answer)
    try:
        content = orjson.dumps(answer)
    except TypeError:
        content = _with_other_keys(answer)
    if b"null" in content and _has_no_number(answer):
        raise Refused("its answer is not JSON: it has NaN or an infinite number")
    return content


def _with_other_keys(answer: Any) -> bytes:
    try:
        return orjson.dumps(answer, option=orjson.OPT_NON_STR_KEYS)
    except TypeError as error:
        raise Refused(f"its answer is not JSON: {error}") from None


def _checked_text(answer: str | bytes | bytearray) -> bytes:
    try:
        text = answer.encode() if isinstance(answer, str) else bytes(answer)
        value = orjson.loads(text)
    except ValueError as error:
        raise Refused(f"its answer is text, but not JSON: {error}") from None
    if value is None:
        raise Refused("it returned nothing (null)")
    return text


def _has_no_number(value: Any) -> bool:
    """A value that is not a number became null, and so would be lost without a word."""
    waiting = [value]
    while waiting:
        each = waiting.pop()
        if isinstance(each, float):
            if each - each != 0:
                return True
        elif isinstance(each, dict):
            waiting += each.values()
        elif isinstance(each, list | tuple):
            waiting += each
    return False


def _reason(error: BaseException, name: str) -> str:
    """The last line of what Python would say, and where in the script that is."""
    try:
        said = str(error)[: 4 * LONGEST_REASON]
    except BaseException:
        said = ""
    said = " ".join(said.split())[:LONGEST_REASON]
    if isinstance(error, Refused | HarvestError):
        return said
    kind = type(error).__name__
    line, trace = None, error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == name:
            line = trace.tb_lineno
        trace = trace.tb_next
    where = f" ({os.path.basename(name)}, line {line})" if line else ""  # noqa: PTH119
    return f"{kind}: {said}{where}" if said else f"{kind}{where}"


def _has_children() -> bool:
    """Orphans of its children are ours, so nobody slips away by leaving the group."""
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        return False
    return True


def _peak() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def _resident() -> int:
    with open("/proc/self/statm", "rb") as file:  # noqa: PTH123
        return int(file.read().split()[1]) * resource.getpagesize()


def limit(memory_bytes: int) -> None:
    """Each process of ours; all of them together are looked at by whoever started us."""
    most = int(memory_bytes * MORE_MEMORY)
    resource.setrlimit(resource.RLIMIT_AS, (most, most))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))


def main(answers: int, parent: int) -> None:
    belong_to(parent, adopts=True)
    channel = Channel(answers)
    with suppress(EOFError):
        _, said, text = channel.next()
        setup = orjson.loads(said)
        channel.mark = bytes.fromhex(setup["mark"])
        limit(setup["memory_bytes"])
        host = Host(channel, setup, text)
        channel.answer(0, WELL, b"", False, 0, 0.0)
        while True:
            host.work(*channel.next())


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
