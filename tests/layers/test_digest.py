"""A task's hash is that of all that is written of it, and of nothing else."""

from __future__ import annotations

from pathlib import Path

import pytest

from tools.layers.digest import digest_of

FILES = {
    "shop.toml": 'extends = "base"\n',
    "base.toml": "about = 'x'\n",
    "other.toml": "about = 'y'\n",
    "brands.py": "import helper, json\ndef f():\n    from parts.one import a\n",
    "helper.py": "from second import b\n",
    "second.py": "import brands\n",
    "parts/__init__.py": "",
    "parts/one.py": "a = 1\n",
    "unused.py": "c = 1\n",
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path


@pytest.mark.parametrize(
    ("task", "of"),
    [
        ("shop.toml", {"shop.toml", "base.toml"}),
        (
            "brands.py",
            {"brands.py", "helper.py", "second.py", "parts/__init__.py", "parts/one.py"},
        ),
    ],
)
def test_what_it_is_made_of_changes_it(folder: Path, task: str, of: set[str]) -> None:
    before = digest_of(folder / task)
    for name, text in FILES.items():
        (folder / name).write_text(f"{text}# edited\n")
        assert (digest_of(folder / task) != before) is (name in of), name
        (folder / name).write_text(text)
    assert digest_of(folder / task) == before


def test_it_is_the_same_in_any_folder(folder: Path, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    for name in ("shop.toml", "base.toml"):
        (elsewhere / name).write_text(FILES[name])
    assert digest_of(elsewhere / "shop.toml") == digest_of(folder / "shop.toml")
