"""A CSV file is a source: a row each, however its fields look."""

from __future__ import annotations

import csv
import io
import logging
import os
import resource
from pathlib import Path

import pytest

from tests.structure.scene import Scene
from tools.errors import GiveUp, UsageError
from tools.structure.sources.csv_file import CsvSource
from tools.structure.sources.source import Item

MAX = 10**8


def source_of(
    tmp_path: Path, content: str | bytes, query: str = "body=html&key=url", max_bytes: int = MAX
) -> CsvSource:
    raw = content.encode() if isinstance(content, str) else content
    (tmp_path / "pages.csv").write_bytes(raw)
    said = f"pages.csv?{query}"
    return CsvSource(f"csv:{said}", said, tmp_path, max_bytes)


def items(source: CsvSource, position: str = "") -> list[Item]:
    return [item for item, _ in source.items(position)]


ODD = ['a "quoted", text', "two\nlines\r\nor three", "", "茶", " spaces ", "a,b;c\td", '"']


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
@pytest.mark.parametrize("is_ended", [True, False])
def test_fields_come_out_as_they_went_in(
    end: str, mark: str, is_ended: bool, tmp_path: Path
) -> None:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator=end)
    writer.writerow(["url", "html", "more"])
    writer.writerows([f"http://h/{n}", body, "x"] for n, body in enumerate(ODD))
    content = mark + (text.getvalue() if is_ended else text.getvalue().removesuffix(end))
    source = source_of(tmp_path, content)
    found = list(source.items(""))
    assert [item.raw for item, _ in found] == [body.encode() for body in ODD]
    assert [item.source for item, _ in found] == [f"http://h/{n}" for n in range(len(ODD))]
    for number, (item, position) in enumerate(found):
        assert source.read(item.place) == item.raw
        assert items(source, position) == [each for each, _ in found[number + 1 :]]


def test_a_column_that_is_missing_is_told_with_the_nearest(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no column 'htlm'; did you mean 'html'"):
        source_of(tmp_path, "url,html\n", "body=htlm")
    with pytest.raises(UsageError, match="no column 'xyz'; it has url, html"):
        source_of(tmp_path, "url,html\n", "body=html&key=xyz")
    with pytest.raises(UsageError, match="say which one is the body"):
        source_of(tmp_path, "url,html\n", "key=url")
    with pytest.raises(UsageError, match="no option 'boddy'; did you mean 'body'"):
        source_of(tmp_path, "url,html\n", "boddy=url")
    with pytest.raises(UsageError, match="save it as UTF-8"):
        source_of(tmp_path, "url,html\n".encode("utf-16"))
    with pytest.raises(UsageError, match="no encoding 'utf8x'"):
        source_of(tmp_path, "url,html\n", "body=html&encoding=utf8x")
    with pytest.raises(UsageError, match="there is no file"):
        CsvSource("csv:x", "x?body=y", tmp_path, MAX)
    with pytest.raises(UsageError, match="no column"):
        source_of(tmp_path, "")


def test_a_head_of_another_encoding_is_told(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_bytes("编号,内容\n1,x\n".encode("gb18030"))
    with pytest.raises(UsageError, match=r"'内容': it is not written in utf-8; say .*gb18030"):
        CsvSource("csv:a.csv?body=内容", "a.csv?body=内容", tmp_path, 10**6)


def test_options_name_type_priority_delimiter_and_encoding(tmp_path: Path) -> None:
    content = "url;html;mime;rank\n1;茶;text/html;2\n2;x;;soon\n".encode("gb18030")
    query = "body=html&key=url&type=mime&priority=rank&delimiter=;&encoding=gb18030"
    one, two = items(source_of(tmp_path, content, query))
    assert (one.raw, one.type, one.priority) == ("茶".encode(), "text/html", 2)
    assert (two.type, two.priority) == (None, None)
    tabs = source_of(tmp_path, "url\thtml\n1\ta,b\n", "body=html&delimiter=tab")
    assert [item.raw for item in items(tabs)] == [b"a,b"]


def test_without_a_key_rows_are_numbered(tmp_path: Path) -> None:
    source = source_of(tmp_path, "html\na\n\nb\n", "body=html")
    found = list(source.items(""))
    assert [item.source for item, _ in found] == ["pages.csv:1", "pages.csv:3"]
    assert items(source, found[0][1])[0].source == "pages.csv:3"


def test_bytes_that_are_no_text_stay_what_they_are(tmp_path: Path) -> None:
    source = source_of(tmp_path, b"url,html\n1,\xff\xfe!\n")
    assert [item.raw for item in items(source)] == [b"\xff\xfe!"]


def test_a_row_may_be_shorter_than_the_head(tmp_path: Path) -> None:
    assert [item.raw for item in items(source_of(tmp_path, "url,html\n1\n"))] == [b""]


def test_a_field_of_fifty_megabytes(tmp_path: Path) -> None:
    body = b"x" * 50_000_000
    source = source_of(tmp_path, b'url,html\n1,"' + body + b'"\n2,y\n')
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    found = items(source)
    assert [len(item.raw or b"") for item in found] == [50_000_000, 1]
    assert source.read(found[0].place) == body
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 700_000  # kB


def test_a_field_that_is_too_large_is_told_when_it_is_read(tmp_path: Path) -> None:
    source = source_of(tmp_path, "url,html\n1," + "x" * 2000 + "\n2,y\n", max_bytes=1000)
    large, small = items(source)
    assert (large.raw, small.raw) == (None, b"y")
    with pytest.raises(GiveUp, match="larger than"):
        source.read(large.place)


def test_a_quote_that_never_ends_costs_bounded_memory(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    rows = "".join(f"{n},body {n}\n" for n in range(200_000))
    source = source_of(tmp_path, 'url,html\n1,"never ends\n' + rows, max_bytes=1000)
    assert len(items(source)) > 50_000  # what follows is found again
    assert "are left out" in caplog.text


def test_rows_that_are_added_are_read_on(tmp_path: Path) -> None:
    source = source_of(tmp_path, "url,html\n1,a\n2,b\n")
    scene = Scene(tmp_path / "state", source)
    scene.round()
    scene.round()
    assert scene.pools.tallied("found") == 2
    position = list(source.items(""))[1][1]
    with (tmp_path / "pages.csv").open("a") as file:
        file.write("3,c\n")
    assert [item.raw for item in items(source, position)] == [b"c"]
    scene.round()
    assert scene.pools.tallied("found") == 3


def test_a_file_that_was_replaced_is_read_from_its_beginning(tmp_path: Path) -> None:
    source = source_of(tmp_path, "url,html\n1,a\n2,b\n")
    scene = Scene(tmp_path / "state", source)
    scene.round()
    for content in (
        "url,html\n1,A\n2,b\n",
        "url,html\n1,A\n2,b\n3,c but other bytes\n",
        "url,html\n",
    ):
        path = tmp_path / "pages.csv"
        path.write_text(content)
        os.utime(path, (1, len(content)))
        scene.round()
    assert scene.pools.tallied("found") == 4
    assert scene.documents.known(["1"], 99)["1"].before is not None


def test_a_file_that_is_gone_is_told(tmp_path: Path) -> None:
    source = source_of(tmp_path, "url,html\n1,a\n")
    (tmp_path / "pages.csv").unlink()
    with pytest.raises(GiveUp, match="No such file"):
        items(source)
    with pytest.raises(GiveUp, match="No such file"):
        source.read("9")


def test_a_place_that_is_none_any_more_is_told(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.ERROR)
    source = source_of(tmp_path, "url,html\n1,a\n")
    with pytest.raises(GiveUp, match="no row at byte"):
        source.read("1000")
