"""`pages export`: a crawl as files for other tools."""

from __future__ import annotations

import csv
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import pyarrow.parquet
import pytest
from hypothesis import given
from hypothesis import strategies as some
from warcio.archiveiterator import ArchiveIterator

from tests.support.command import run, says
from tests.support.garden_truth import HOST
from tools.exports.folder import README, TITLE
from tools.pages.export import FORMATS, Format, _written
from tools.pages.file_names import DEEPEST, LONGEST, apart, by_itself, file_of
from tools.pages.page import Page
from tools.pages.table_sqlite import SqlitePages
from tools.sample import garden


def exported(crawl: Path, to: Path, *flags: object) -> CompletedProcess[str]:
    return run("main.py", "pages", "export", to, *flags, cwd=crawl)


def pages_of(crawl: Path) -> list[Page]:
    return list(SqlitePages(crawl / "state-pages/pages.db", writable=False).pages())


# --- files -----------------------------------------------------------------------------------


def test_each_page_is_a_file(whole_crawl: Path, tmp_path: Path) -> None:
    done = exported(whole_crawl, tmp_path / "site")
    assert done.returncode == 0, done.stderr
    with (tmp_path / "site/files.csv").open(newline="") as file:
        files = {row["url"]: tmp_path / "site" / row["file"] for row in csv.DictReader(file)}
    kept = [each for each in pages_of(whole_crawl) if each.state == 1 and each.redirect is None]
    assert files.keys() == {each.url for each in kept} - {f"{HOST}/private-note"}
    site = garden.pages()
    for url, path in files.items():
        if (page := site.get(url.removeprefix(HOST))) is not None:
            assert path.read_bytes() == page.content, url
    assert (tmp_path / "site" / HOST / "plants/rose.html").exists()
    assert (tmp_path / "site" / HOST / "index.html").exists()
    assert not (tmp_path / "site" / HOST / "old").exists()


HOSTILE = some.text(max_size=300) | some.text("./?%\\:~aé\x00", max_size=40)


@given(HOSTILE, some.sampled_from([None, "text/html", "text/plain"]))
def test_a_name_stays_in_its_folder(path: str, kind: str | None) -> None:
    file = file_of(f"h.example/{path}", kind)
    assert file.parts[0] == "h.example" and not file.is_absolute()
    assert 2 <= len(file.parts) <= DEEPEST + 2
    for part in file.parts[1:]:
        assert part not in ("", ".", "..") and len(part) <= LONGEST
        assert not part.startswith(".") and part.isascii() and part.isprintable()
        assert not set(part) & set('\\/:*?"<>|')


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("h/a/../../../etc/passwd", "h/a/_.._/_.._/_.._/etc/passwd"),
        ("h//x", "h/_/x"),
        ("h/a?b=/../c", "h/a@b=_.._c"),
        ("h/nul", "h/_nul"),
        ("h/%2e%2e/x", "h/%2e%2e/x"),
        ("h?q=1", "h/index@q=1"),
    ],
)
def test_hostile_addresses_get_ordinary_names(url: str, expected: str) -> None:
    assert str(file_of(url, None)) == expected


def page(url: str, kind: str | None = None) -> Page:
    values: dict[str, Any] = dict.fromkeys(Page._fields)
    return Page(**{**values, "url": url, "content_type": kind})


def test_pages_with_the_same_name_are_told_apart(tmp_path: Path) -> None:
    urls = ["h/a", "h/a/b", "h/a/b?c", "h/a/b@c", "h/a/index", "h/a/", "h/x?1&2", "h/x?1/2"]
    files = [_written(tmp_path, page(url), url.encode()) for url in urls]
    assert len(set(files)) == len(urls)
    for url, file in zip(urls, files, strict=True):
        assert (tmp_path / file).read_bytes() == url.encode()
    assert by_itself("h/a/b") in files  # its folder is the file of another
    assert apart(file_of("h/x?1/2", None), "h/x?1/2") in files


def test_a_damaged_record_ends_it_without_a_folder(crawled: Path) -> None:
    (file,) = crawled.glob("archive/*/*/*.warc.gz")
    file.write_bytes(file.read_bytes()[:5000])
    done = exported(crawled, Path("site"))
    assert done.returncode == 6 and "pages check" in done.stderr
    assert not (crawled / "site").exists()


def test_what_a_killed_export_left_goes(crawled: Path) -> None:
    rest = crawled / "site.part" / HOST
    rest.mkdir(parents=True)
    (rest / "old.html").write_text("old")
    (crawled / "site.part" / README).write_text(TITLE)
    assert exported(crawled, Path("site")).returncode == 0
    assert not (crawled / "site" / HOST / "old.html").exists()
    assert not (crawled / "site.part").exists()


def test_a_folder_of_somebody_else_is_in_the_way(crawled: Path) -> None:
    (crawled / "site.part/mine").mkdir(parents=True)
    done = exported(crawled, Path("site"))
    assert done.returncode == 2 and "move it elsewhere" in done.stderr
    assert (crawled / "site.part/mine").exists()


@pytest.mark.parametrize("name", [".", "", "..", "/"])
def test_a_folder_without_a_name_is_one_that_exists(whole_crawl: Path, name: str) -> None:
    done = run("main.py", "pages", "export", name, cwd=whole_crawl)
    assert done.returncode == 2 and "exists already" in says(done, 2)


# --- the archive -----------------------------------------------------------------------------


def answers(folder: Path) -> Iterator[tuple[str, bytes]]:
    for path in sorted(folder.rglob("*.warc.gz")):
        with path.open("rb") as file:
            for record in ArchiveIterator(file):
                if record.rec_type == "response":
                    address = record.rec_headers.get_header("WARC-Target-URI")
                    yield address, record.content_stream().read()


def test_warc_files_go_with_their_index(crawled: Path) -> None:
    (file,) = crawled.glob("archive/*/*/*.warc.gz")
    whole, kept = file.read_bytes(), dict(answers(crawled / "archive"))
    file.write_bytes(whole + b"half a record that a kill left")
    assert exported(crawled, Path("copy"), "--format", "warc").returncode == 0
    copied = crawled / "copy" / file.relative_to(crawled / "archive")
    assert copied.read_bytes() == whole
    index = (crawled / "copy/index.cdxj").read_bytes()
    assert index == (crawled / "archive/index.cdxj").read_bytes()
    assert dict(answers(crawled / "copy")) == kept


def test_a_viewer_takes_the_one_file(whole_crawl: Path, tmp_path: Path) -> None:
    assert exported(whole_crawl, tmp_path / "x", "--format", "wacz").returncode == 0
    made = str(tmp_path / "x/pages.wacz")
    command = [sys.executable, "-W", "ignore", "-m", "wacz.main", "validate", "-f", made]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert "is valid" in done.stdout + done.stderr


def test_a_file_that_was_shipped_is_named(crawled: Path) -> None:
    (file,) = crawled.glob("archive/*/*/*.warc.gz")
    file.unlink()
    done = exported(crawled, Path("x"), "--format", "wacz")
    assert done.returncode == 6 and file.name in done.stderr and "bring it back" in done.stderr


# --- the table -------------------------------------------------------------------------------


def as_lists(row: dict[str, Any]) -> dict[str, Any]:
    """What was a text in a cell."""
    texts = {key: json.loads(row[key]) for key in ("paths", "extra") if isinstance(row[key], str)}
    return row | texts


def test_the_table_is_the_same_in_every_format(whole_crawl: Path, tmp_path: Path) -> None:
    for name in ("csv", "jsonl", "parquet"):
        assert exported(whole_crawl, tmp_path / name, "--format", name).returncode == 0
    expected = [each._asdict() for each in pages_of(whole_crawl)]
    lines = (tmp_path / "jsonl/pages.jsonl").read_text().splitlines()
    assert [json.loads(line) for line in lines] == expected
    rows = pyarrow.parquet.read_table(tmp_path / "parquet/pages.parquet").to_pylist()
    assert [as_lists(row) for row in rows] == expected
    with (tmp_path / "csv/pages.csv").open(newline="") as file:
        cells = list(csv.DictReader(file))
    assert [row["url"] for row in cells] == [each["url"] for each in expected]
    assert [json.loads(row["paths"]) for row in cells] == [each["paths"] for each in expected]


def test_an_unknown_format_is_refused(whole_crawl: Path) -> None:
    done = exported(whole_crawl, Path("nowhere"), "--format", "warcs")
    assert done.returncode == 2 and "take one of files, warc, wacz" in done.stderr
    assert not (whole_crawl / "nowhere").exists()


def test_the_command_offers_what_there_is() -> None:
    from tools.commands.pages_export import FORMATS as OFFERED

    assert tuple(FORMATS) == OFFERED and all(isinstance(each, Format) for each in FORMATS.values())


def test_without_a_folder_it_says_so(whole_crawl: Path) -> None:
    done = run("main.py", "pages", "export", cwd=whole_crawl)
    assert done.returncode == 2 and "needs a folder" in done.stderr
