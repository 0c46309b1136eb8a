"""`python main.py structure --sample`: it ends well, with tesseract and without."""

from __future__ import annotations

import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from tests.support.command import run
from tests.support.needs import program

pytestmark = pytest.mark.timeout(120)


def test_both_structures_give_the_tables_that_must_come_of_them(tmp_path: Path) -> None:
    program("tesseract", "tesseract-ocr")
    for _ in range(2):  # the second time there is nothing to do, and the tables are the same
        done = run("main.py", "structure", "--sample", cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        counts = "accession 4, collector 4, trial 3, germination 3, certificate 1, _problems 1"
        assert f"seeds: as the seed bank knows of itself: {counts}\n" in done.stdout
        assert "labels: as the seed bank knows of itself: label 1, word 24\n" in done.stdout


def test_a_table_that_is_another_one_is_told(tmp_path: Path) -> None:
    assert run("main.py", "structure", "seeds", "--sample", cwd=tmp_path).returncode == 0
    with closing(sqlite3.connect(tmp_path / "state-structure/seeds/seeds.db")) as db:
        db.execute("UPDATE trial SET year = 1999 WHERE seq = 2")
        db.commit()
    done = run("main.py", "structure", "--sample", cwd=tmp_path)
    assert done.returncode != 0 and "seeds: the table trial has" in done.stderr


def test_without_tesseract_all_but_the_scan_is_there(tmp_path: Path) -> None:
    """A PATH with what there is, but that."""
    (tmp_path / "bin").mkdir()
    for name in ("bwrap", "env"):
        if found := shutil.which(name):
            (tmp_path / "bin" / name).symlink_to(found)
    done = run("main.py", "structure", "--sample", cwd=tmp_path, PATH=str(tmp_path / "bin"))
    assert done.returncode == 0, done.stderr
    assert "seeds: as the seed bank knows of itself: accession 4" in done.stdout
    assert "tesseract is not installed: apt install tesseract-ocr" in done.stdout


def test_its_status_can_be_asked_for_and_nothing_is_made_by_a_dry_run(tmp_path: Path) -> None:
    dry = run("main.py", "structure", "--sample", "--dry-run", cwd=tmp_path)
    assert dry.returncode == 0 and "folder:raw" in dry.stdout, dry.stderr
    assert not (tmp_path / "state-structure").exists()
    assert run("main.py", "structure", "seeds", "--sample", "-q", cwd=tmp_path).returncode == 0
    status = run("main.py", "structure", "status", "seeds", "--sample", cwd=tmp_path)
    assert status.returncode == 0 and "parsers/accession.py" in status.stdout, status.stderr
