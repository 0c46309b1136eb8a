"""A task from a few lines of TOML, and what it makes of a page."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from tools.errors import UsageError
from tools.layers.catalogue import load_task
from tools.layers.page import Page
from tools.layers.request import Request
from tools.layers.task import Skipped, Task
from tools.tables.rows import Row

URL = "http://h.example/dir/page?old=1"
HEAD = """base = "http://h.example/"
start = ["/"]
[tables.t]
columns = { a = "TEXT", b = "TEXT", c = "JSON", n = "DECIMAL(10,2)" }
[layers.list]
format = "%s"
"""


def task_of(toml: str, name: str = "shop", **others: str) -> Task:
    """Of a folder with this file and others."""
    with TemporaryDirectory() as folder:
        for stem, text in {name: toml, **others}.items():
            (Path(folder) / f"{stem}.toml").write_text(text, encoding="utf-8")
        return load_task(Path(folder), name)


def mistakes_of(toml: str, name: str = "shop", **others: str) -> list[str]:
    """What is said about it, line by line, without the name of its folder."""
    with TemporaryDirectory() as folder:
        for stem, text in {name: toml, **others}.items():
            (Path(folder) / f"{stem}.toml").write_text(text, encoding="utf-8")
        try:
            load_task(Path(folder), name)
        except UsageError as error:
            return str(error).replace(f"{folder}/", "").splitlines()
    return []


def worked(task: Task, text: str, request: Request | None = None, **page: Any) -> list[Any]:
    request = request or Request("list", url=URL)
    format = task.options(request.layer).format
    return list(task.work(request, Page(URL, text=text, format=format, **page)))


def field(declared: str, text: str, format: str = "html", **page: Any) -> Any:
    """What one field of a page is."""
    toml = f"{HEAD % format}[[layers.list.rows]]\ntable = 't'\nfields = {{ a = {declared} }}"
    (row,) = worked(task_of(toml), text, Request("list", url=URL, carried={"k": "v"}), **page)
    assert isinstance(row, Row | Skipped)
    return row.values["a"] if isinstance(row, Row) else row


def followed(declared: str, text: str, format: str = "html", **page: Any) -> list[Any]:
    """The requests of a page by one line of `next`."""
    toml = f"{HEAD % format}next = [{{ {declared} }}]\n[layers.detail]"
    return worked(task_of(toml), text, Request("list", url=URL, carried={"k": "v"}), **page)
