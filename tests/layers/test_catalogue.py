from __future__ import annotations

from pathlib import Path

import pytest

from tests.layers.test_mistakes import SHOP
from tools.errors import UsageError
from tools.layers.catalogue import Broken, load_task, load_tasks
from tools.layers.page import Page
from tools.layers.request import Request
from tools.layers.rules import DeclaredTask
from tools.tables.rows import Row

BRANDS = '''"""Brands, by a class."""

from sheaf.layers import LayerOptions, Page, Refill, Request, Row, Task


class Brands(Task):
    about = "brands"
    base = "http://h.example/"
    layers = {0: 0, "hits": 1}
    first = (Request(0, "GET", "/search"),)
    tables = {"hit": {"key": ("sku",), "columns": {"sku": "VARCHAR(20)", "name": "TEXT"}}}
    forget = {"__STATE"}
    every = "30 min"
    layer_options = {"hits": LayerOptions("json")}
    refill = [Refill("SELECT 1", "hits")]
    own = 7

    def work(self, request: Request, page: Page):
        for hit in page.css("li"):
            yield Row("hit", sku=hit.attrib["id"], name=hit.css("::text").get())
'''


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "shop.toml").write_text(SHOP, encoding="utf-8")
    (tmp_path / "brands.py").write_text(BRANDS, encoding="utf-8")
    return tmp_path


def reason(folder: Path, name: str) -> str:
    task = load_tasks(folder)[name]
    assert isinstance(task, Broken)
    return task.reason.replace(f"{folder}/", "")


def test_files_and_classes_stand_in_one_catalogue(folder: Path) -> None:
    tasks = load_tasks(folder)

    assert list(tasks) == ["brands", "shop"]
    assert isinstance(tasks["shop"], DeclaredTask)
    brands = load_task(folder, "brands")
    assert (brands.name, brands.every, brands.file) == ("brands", 1800.0, folder / "brands.py")
    page = Page("http://h.example/", text="<li id=a>x")
    assert list(brands.work(Request(0), page)) == [Row("hit", sku="a", name="x")]


def test_a_class_may_have_a_name_of_its_own(folder: Path) -> None:
    (folder / "brands.py").write_text(
        BRANDS.replace('    about = "b', '    name = "tea.2"\n    about = "b')
    )

    assert list(load_tasks(folder)) == ["shop", "tea.2"]


def test_classes_may_share_what_stands_beside_them(folder: Path) -> None:
    (folder / "_common.py").write_text(
        "ABOUT = 'shared'\nfrom sheaf.layers import Task\nclass X(Task): pass"
    )
    changed = BRANDS.replace('about = "brands"', "about = ABOUT")
    (folder / "brands.py").write_text(f"from _common import ABOUT, X\n{changed}")

    assert load_task(folder, "brands").about == "shared"


def test_two_tasks_of_one_name(folder: Path) -> None:
    (folder / "brands.toml").write_text(SHOP)

    assert reason(folder, "brands") == (
        "two tasks are called 'brands': brands.py and brands.toml; give one of them another name"
    )


BAD_CLASSES = {
    "import no_such_name": "bad.py:1: ModuleNotFoundError: No module named 'no_such_name'",
    "x = 1\ny = 1 / 0": "bad.py:2: ZeroDivisionError: division by zero",
    "x = 1\ndef f(:": "bad.py:2: SyntaxError: invalid syntax",
    "raise SystemExit('go')": "bad.py:1: SystemExit: go",
    "from sheaf.layers import Pgae": None,
}


@pytest.mark.parametrize("text", BAD_CLASSES)
def test_a_file_that_cannot_be_imported_is_told_with_its_line(folder: Path, text: str) -> None:
    (folder / "bad.py").write_text(text)

    said = reason(folder, "bad")

    assert (
        said == BAD_CLASSES[text] if BAD_CLASSES[text] else said.startswith("bad.py:1: ImportError")
    )
    assert isinstance(load_tasks(folder)["shop"], DeclaredTask)


WRONG = {
    (
        '{0: 0, "hits": 1}',
        "[0, 1]",
    ): "Brands.layers: must be a mapping of layers to depths, not [0, 1]",
    ('{0: 0, "hits": 1}', '{"a b": 0}'): None,
    ('{0: 0, "hits": 1}', '{0: "0", "hits": 1}'): "Brands.layers: 0: '0' is no layer and depth",
    (
        "forget = {",
        "forgte = {",
    ): "Brands.forgte: a task has no such attribute; did you mean 'forget'?",
    ('{"__STATE"}', '"__STATE"'): "Brands.forget: must be a set of texts, not '__STATE'",
    ('"30 min"', '"soon"'): "Brands.every: must be seconds or like \"30 min\", not 'soon'",
    ('Request(0, "GET"', 'Request(5, "GET"'): "Brands.first: no layer 5",
    ('"/search"', '"mailto:x"'): None,
    ('"TEXT"', '"TXET"'): None,
    (
        'LayerOptions("json")',
        'LayerOptions("jsno")',
    ): "Brands.layer_options['hits']: no 'jsno'; did you mean 'json'?",
    (
        '"hits": LayerOptions',
        '"hist": LayerOptions',
    ): "Brands.layer_options: no layer 'hist'; did you mean 'hits'?",
    ("own = 7", "robots = 1"): "Brands.robots: must be True or False, not 1",
    ("own = 7", "workers = 0"): "Brands.workers: must be 1 or more",
    ("own = 7", "at = 'noon'"): None,
    ("own = 7", "cookies = 'som'"): None,
    ("own = 7", "after_steps = ['rety']"): "Brands.after_steps: no 'rety'; did you mean 'retry'?",
    ("def work(", "def wrok("): "Brands: has no method work(self, request, page)",
    (
        "    own = 7",
        "    def __init__(self): 1 / 0",
    ): "Brands() fails: ZeroDivisionError('division by zero')",
}


@pytest.mark.parametrize("change", WRONG, ids=lambda change: change[1])
def test_a_mistake_of_a_class_has_its_place(folder: Path, change: tuple[str, str]) -> None:
    right, wrong = change
    assert right in BRANDS
    (folder / "brands.py").write_text(BRANDS.replace(right, wrong, 1))

    said = reason(folder, "brands")

    assert said.startswith("brands.py: ")
    if WRONG[change]:
        assert said == f"brands.py: {WRONG[change]}"


@pytest.mark.parametrize("name", ["a b", ".hidden", "x" * 101])
def test_a_name_that_no_folder_should_have(folder: Path, name: str) -> None:
    (folder / f"{name}.toml").write_text(SHOP)

    assert "to be a task's name" in reason(folder, name)


def test_the_nearest_task_is_named(folder: Path) -> None:
    with pytest.raises(UsageError, match=r"no task 'shpo' in .*; did you mean 'shop'"):
        load_task(folder, "shpo")
    with pytest.raises(UsageError, match="there are: brands, shop"):
        load_task(folder, "zzz")


def test_a_broken_task_cannot_be_loaded_and_spoils_no_other(folder: Path) -> None:
    (folder / "other.toml").write_text("layers = 1")

    with pytest.raises(UsageError, match=r"other\.toml: layers"):
        load_task(folder, "other")
    assert load_task(folder, "shop").name == "shop"


def test_a_mistake_has_its_line_in_a_folder_that_is_named_from_here(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder.parent)
    (folder / "odd.py").write_text("\n1 / 0\n", encoding="utf-8")
    (folder / "odder.py").write_text("\n\ndef (:\n", encoding="utf-8")
    tasks = load_tasks(Path(folder.name))
    assert f"{folder.name}/odd.py:2: ZeroDivisionError" in str(tasks["odd"])
    assert f"{folder.name}/odder.py:3: SyntaxError" in str(tasks["odder"])


@pytest.mark.parametrize(
    "line",
    [
        "name = 5",
        "again = [[1]]",
        "about = property(lambda self: 1 / 0)",
        "def __init__(self): raise SystemExit(4)",
        'limits = Limits(delay_s="x")',
        "layer_options = {0: LayerOptions(status=200)}",
        "every = 5; at = '0 6 * * *'",
        'tables = {"hit": {"columns": {5: "TEXT"}}}',
        "layers = {0: 0, '0': 1}",
    ],
)
def test_a_class_that_cannot_even_be_looked_at_spoils_no_other(folder: Path, line: str) -> None:
    text = BRANDS.replace("LayerOptions,", "LayerOptions, Limits,").replace(
        "class Brands", "class Odd"
    )
    (folder / "odd.py").write_text(text.replace("    own = 7", f"    {line}"), encoding="utf-8")
    tasks = load_tasks(folder)
    assert isinstance(tasks["odd"], Broken)
    assert "odd.py" in tasks["odd"].reason
    assert not isinstance(tasks["brands"], Broken)
