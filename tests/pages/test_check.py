"""`pages check`: archive, index and table of a crawl, and what it says when they differ."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from subprocess import CompletedProcess

import pytest

from tests.support.command import run
from tests.support.garden_truth import HOST
from tools.archive.reader import records
from tools.journal.instance import only_instance


def check(folder: Path, *flags: object) -> CompletedProcess[str]:
    return run("main.py", "pages", "check", *flags, cwd=folder)


def warc(folder: Path) -> Path:
    (file,) = folder.glob("archive/*/*/*.warc.gz")
    return file


def change(folder: Path, statement: str) -> None:
    with closing(sqlite3.connect(folder / "state-pages/pages.db")) as db, db:
        assert db.execute(statement).rowcount > 0


def test_a_crawl_agrees_with_itself(whole_crawl: Path) -> None:
    done = check(whole_crawl)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "archive, index and table agree" in done.stdout
    assert "pages that nobody may keep    1" in done.stdout
    assert check(whole_crawl, "-q").stdout == ""


def flip(folder: Path) -> None:
    """One byte in the middle of a record."""
    place = [kept.place for kept in records(warc(folder))][9]
    content = bytearray(warc(folder).read_bytes())
    content[place.offset + place.length // 2] ^= 0xFF
    warc(folder).write_bytes(content)


def cut(folder: Path) -> None:
    content = warc(folder).read_bytes()
    warc(folder).write_bytes(content[: len(content) // 2])


def double(folder: Path) -> None:
    """A record more, which the table takes for committed."""
    content = warc(folder).read_bytes()
    places = [kept.place for kept in records(warc(folder))]
    place = places[1]
    more = content[place.offset : place.offset + place.length]
    warc(folder).write_bytes(content + more)
    change(folder, f"UPDATE files SET bytes = bytes + {len(more)}")


def strange(folder: Path) -> None:
    warc(folder).with_name(warc(folder).name.replace("00000", "00001")).write_bytes(b"")


SPOILT: dict[str, Callable[[Path], None]] = {
    "no record can be read there": flip,
    "shorter than the table says": cut,
    "the table does not know this record": double,
    "the table does not know this file": strange,
    "the file is gone": lambda folder: warc(folder).unlink(),
    "another record than the table says": lambda folder: change(
        folder, "UPDATE captures SET digest = 'sha1:OTHER' WHERE address LIKE '%/walk/1'"
    ),
    "no record begins there": lambda folder: change(
        folder, 'UPDATE captures SET "offset" = "offset" + 1 WHERE address LIKE \'%/walk/1\''
    ),
    "its answer is not in the archive": lambda folder: change(
        folder,
        "DELETE FROM captures WHERE page IN (SELECT id FROM pages WHERE url LIKE '%/walk/1')",
    ),
    "the words are not the sum of those of the pages": lambda folder: change(
        folder, "UPDATE words SET count = count + 1 WHERE word = 'rose'"
    ),
}


@pytest.mark.parametrize("sentence", SPOILT)
def test_what_is_wrong_is_told(crawled: Path, sentence: str) -> None:
    SPOILT[sentence](crawled)
    done = check(crawled)
    assert done.returncode == 6, done.stdout + done.stderr
    assert sentence in done.stdout
    assert "archive and table do not agree" in done.stderr


def test_content_is_compared_with_its_digest(crawled: Path) -> None:
    """Packed anew, so that nothing but the digest can tell."""
    from tools.archive.record import HTTP_ANSWER, record

    old = next(kept for kept in records(warc(crawled)) if kept.address.endswith("/walk/1"))
    headers = [
        ("WARC-Date", old.time.isoformat().replace("+00:00", "Z")),
        ("WARC-Target-URI", old.address),
        ("WARC-Payload-Digest", old.digest or ""),
    ]
    head = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n"
    forged = record("response", HTTP_ANSWER, headers, head, b"<p>something else</p>")
    content = warc(crawled).read_bytes()
    change(
        crawled,
        f'UPDATE captures SET "offset" = {len(content)}, length = {len(forged)} '
        "WHERE address LIKE '%/walk/1'",
    )
    warc(crawled).write_bytes(content + forged)
    change(crawled, f"UPDATE files SET bytes = bytes + {len(forged)}")
    done = check(crawled)
    assert done.returncode == 6
    assert "another content than its digest says" in done.stdout


def test_what_a_kill_left_behind_is_no_damage(crawled: Path) -> None:
    with warc(crawled).open("ab") as file:
        file.write(b"\x1f\x8bhalf a record")
    assert check(crawled).returncode == 0


def test_what_a_file_lost_at_its_end_comes_again(crawled: Path) -> None:
    """Behind the last record that is whole: half a one would spoil what comes after it."""
    cut(crawled)
    done = run("main.py", "pages", "--sample", "--depth", 3, "-q", cwd=crawled)
    assert done.returncode == 0, done.stderr
    done = check(crawled)
    assert done.returncode == 0, done.stdout


def test_the_index_is_written_anew(crawled: Path) -> None:
    index = crawled / "archive/index.cdxj"
    before = index.read_bytes()
    index.write_bytes(before[:-200])
    done = check(crawled)
    assert "written anew" in done.stdout
    assert index.read_bytes() == before
    assert "as it should be" in check(crawled).stdout


def test_the_index_of_a_running_crawl_is_left_alone(crawled: Path) -> None:
    index = crawled / "archive/index.cdxj"
    index.unlink()
    with only_instance(crawled / "state-pages"):
        done = check(crawled)
    assert (done.returncode, "a crawl runs" in done.stdout) == (0, True), done.stderr
    assert not index.exists()


def test_without_a_crawl_there_is_nothing_to_check(tmp_path: Path) -> None:
    done = check(tmp_path)
    assert done.returncode == 2 and "there is no crawl" in done.stderr
    assert not any(tmp_path.iterdir()) and HOST not in done.stdout
