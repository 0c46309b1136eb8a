"""One file with all of an archive: `wacz validate` accepts it, and its index finds the records."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
from datetime import timedelta
from io import BytesIO
from pathlib import Path
from zipfile import ZIP_STORED, ZipFile

import pytest
from warcio.archiveiterator import ArchiveIterator

from tests.archive.scene import TIME, answer, archive_in
from tools.archive.cdxj import Capture
from tools.archive.record import pack
from tools.archive.recovery import our_files
from tools.archive.wacz import Page, export
from tools.errors import StateDamaged

COUNT = 2100  # more than two blocks of the index


def filled(folder: Path) -> tuple[dict[str, int], list[Capture]]:
    archive = archive_in(folder, max_file_bytes=300_000)
    captures = []
    for number in range(COUNT):
        host, time = f"h{number % 3}.example", TIME + timedelta(seconds=number)
        sent = answer(f"http://{host}/{number}", b"page %d" % number, time=time)
        packed = pack(sent)
        place = archive.append(host, packed)[0]
        captures.append(Capture(sent.address, time, 200, packed.mime, packed.digest, place))
    archive.close()
    return {name: (folder / name).stat().st_size for name in our_files(folder)}, captures


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wacz")
    files, captures = filled(folder / "archive")
    for name in files:  # as if it grew meanwhile
        with (folder / "archive" / name).open("ab") as file:
            file.write(b"not committed")
    pages = [Page(each.address, each.time, "a \ud800 title") for each in captures]
    export(folder / "archive", folder / "all.wacz", files, captures, pages, "Test")
    assert [path.name for path in folder.glob("all*")] == ["all.wacz"]
    return folder / "all.wacz"


def test_it_is_valid(made: Path) -> None:
    command = [sys.executable, "-W", "ignore", "-m", "wacz.main", "validate", "-f", str(made)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert "Validation succeeded" in done.stdout, done.stdout + done.stderr
    assert done.returncode == 0


def test_its_index_finds_every_record(made: Path) -> None:
    with ZipFile(made) as archive:
        index = archive.read("indexes/index.cdx.gz")
        meta, *blocks = archive.read("indexes/index.idx").decode().splitlines()
        assert json.loads(meta.partition(" 0 ")[2])["format"] == "cdxj-gzip-1.0"
        lines = []
        for block in blocks:
            where = json.loads(block[block.index("{") :])
            packed = index[where["offset"] : where["offset"] + where["length"]]
            unpacked = gzip.decompress(packed).decode().splitlines()
            assert unpacked[0].startswith(block.partition(" {")[0])
            lines += unpacked
        assert len(lines) == COUNT and lines == sorted(lines)
        for line in lines[::97]:
            entry = json.loads(line[line.index("{") :])
            content = archive.read(f"archive/{entry['filename']}")[int(entry["offset"]) :]
            record = next(iter(ArchiveIterator(BytesIO(content))))
            assert record.rec_headers["WARC-Target-URI"] == entry["url"]


def test_files_are_stored_as_they_are_and_pages_listed(made: Path) -> None:
    with ZipFile(made) as archive:
        inside = [each for each in archive.infolist() if each.filename.startswith("archive/")]
        assert len(inside) > 3 and {each.compress_type for each in inside} == {ZIP_STORED}
        for each in inside:
            assert not archive.read(each).endswith(b"not committed")
        pages = archive.read("pages/pages.jsonl").decode().splitlines()
    assert len(pages) == COUNT + 1
    expected = {"id": "0", "url": "http://h0.example/0", "ts": "2026-05-04T03:02:01Z"}
    assert json.loads(pages[1]) == {**expected, "title": "a ? title"}


def test_a_file_that_is_too_short_leaves_nothing_behind(tmp_path: Path) -> None:
    (place, _) = archive_in(tmp_path / "a").append("example.org", pack(answer()))
    with pytest.raises(StateDamaged, match="fewer bytes than the table says"):
        export(tmp_path / "a", tmp_path / "x.wacz", {place.file: 10**6}, [], [])
    assert [path.name for path in tmp_path.iterdir()] == ["a"]
