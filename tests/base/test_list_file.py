"""Lists that somebody wrote, from wherever they come."""

from __future__ import annotations

import os
from pathlib import Path
from threading import Thread

import pytest

from tools.base.list_file import lines_in

LINES = ["https://a.example/", "https://b.example/\u00e4"]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-32"])
def test_a_pipe_is_read_as_a_file_is(tmp_path: Path, encoding: str) -> None:
    pipe, content = tmp_path / "pipe", "\n".join(LINES).encode(encoding)
    os.mkfifo(pipe)
    writer = Thread(target=pipe.write_bytes, args=(content,), daemon=True)
    writer.start()
    assert [line.strip() for _, line in lines_in(pipe)] == LINES
    writer.join(10)
