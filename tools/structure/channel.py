"""The two pipes of a parser's process, and how what goes through them is framed.

Limit: the standard library only, for it is loaded in every parser's process.
"""

from __future__ import annotations

import fcntl
import os
import struct

REQUEST = struct.Struct("=QQQ")
"""Its number, the length of what is said about the document, the length of the document."""
ANSWER = struct.Struct("=16sQBBQdQ")
"""Our mark, its number, its state, whether the process is spent, the peak of its resident memory,
the seconds it took, the length of what follows."""
WELL, FAILED, NO_MEMORY = range(3)
CHUNK = 1 << 16
ABOVE = 100  # where our own files are: a parser that counts its files up does not meet them


class Channel:
    """The two pipes, away from where a parser's `input()` and `print()` go."""

    def __init__(self, answers: int) -> None:
        self._requests = fcntl.fcntl(0, fcntl.F_DUPFD_CLOEXEC, ABOVE)
        self._answers = fcntl.fcntl(answers, fcntl.F_DUPFD_CLOEXEC, ABOVE)
        os.close(answers)
        nothing = os.open(os.devnull, os.O_RDONLY)
        os.dup2(nothing, 0)
        os.close(nothing)
        self.mark = b""

    def next(self) -> tuple[int, bytes, bytes]:
        """Mostly one read. EOFError when nobody asks any more."""
        got = self._read(CHUNK)
        while len(got) < REQUEST.size:
            got += self._read(CHUNK)
        number, about_length, length = REQUEST.unpack_from(got)
        whole = REQUEST.size + about_length + length
        if len(got) < whole:
            parts, missing = [got], whole - len(got)
            while missing:
                parts.append(self._read(min(missing, 1 << 20)))
                missing -= len(parts[-1])
            got = b"".join(parts)
        begin = REQUEST.size + about_length
        return number, got[REQUEST.size : begin], got[begin:whole]

    def answer(
        self, number: int, state: int, content: bytes, is_spent: bool, memory: int, seconds: float
    ) -> None:
        head = ANSWER.pack(self.mark, number, state, is_spent, memory, seconds, len(content))
        rest = memoryview(head + content)
        while rest:
            rest = rest[os.write(self._answers, rest) :]

    def _read(self, most: int) -> bytes:
        got = os.read(self._requests, most)
        if not got:
            raise EOFError
        return got
