"""SQLite's write-ahead log, looked at from outside.

SQLite takes the log up to its first damaged frame and says nothing of what came after. A process
that was killed leaves at most one unfinished transaction there, which nobody was told was done. But
if whole transactions follow, then moves that had been made would silently be undone.
"""

from __future__ import annotations

import struct
from pathlib import Path

HEADER = struct.Struct(">8I")  # magic, format, page size, sequence, two salts, two checksums
FRAME = struct.Struct(">6I")  # page, size of the database after a commit or 0, salts, checksums
MANY = 1_000_000
LAST_FRAME_AT = 16  # in the index SQLite makes of the log, in the byte order of this computer


def lost_commits(database: Path) -> int:
    """How many transactions stand in the log that SQLite does not see. Somebody must have the
    database open and have read from it."""
    log, index = (database.with_name(database.name + suffix) for suffix in ("-wal", "-shm"))
    if not log.exists() or not index.exists() or log.stat().st_size <= HEADER.size:
        return 0
    with log.open("rb") as file:
        header = file.read(HEADER.size)
        _, _, page_size, _, *salts, _, _ = HEADER.unpack(header)
        if not _is_whole(header):
            return MANY
        seen = struct.unpack_from("=I", index.read_bytes(), LAST_FRAME_AT)[0]
        length = FRAME.size + page_size
        lost = 0
        for start in range(HEADER.size + seen * length, log.stat().st_size - length + 1, length):
            file.seek(start)
            _, is_commit, *found, _, _ = FRAME.unpack(file.read(FRAME.size))
            lost += bool(is_commit) and found == salts
    return lost


def is_from_before_boot(database: Path) -> bool:
    """Was the log last written before this computer started? A power cut may lose its end."""
    log = database.with_name(database.name + "-wal")
    try:
        lines = Path("/proc/stat").read_text(encoding="ascii").splitlines()
        booted = next(float(line.split()[1]) for line in lines if line.startswith("btime "))
    except (OSError, StopIteration):
        return False
    return log.stat().st_mtime < booted


def _is_whole(header: bytes) -> bool:
    """The last two numbers of the header are a sum over the others."""
    order = ">" if header[3] & 1 else "<"
    first = second = 0
    numbers = struct.unpack(f"{order}6I", header[:24])
    for even, odd in zip(numbers[::2], numbers[1::2], strict=True):
        first = (first + even + second) & 0xFFFFFFFF
        second = (second + odd + first) & 0xFFFFFFFF
    return (first, second) == struct.unpack(">2I", header[24:])
