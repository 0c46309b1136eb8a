"""The built-in parsers, each as a job uses it: in a process, with its limits."""

from __future__ import annotations

import difflib
import unicodedata
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import orjson
import pytest

from tests.structure.conftest import Bench
from tests.structure.paper import locked_pdf, pdf_of, ruled, scan_of, text_at
from tests.support import needs
from tests.support.real import real
from tools.errors import GiveUp
from tools.structure.parsers import ocr
from tools.structure.registry import Limits, Parsers, Rule
from tools.structure.sandbox import Sandbox

pytestmark = pytest.mark.timeout(120)
TEA = """<html><head><title>Tea &amp; Co</title><meta name=author content=Wu>
<meta name=tag content=a><meta name=tag content=b><meta property="og:title" content="茶">
<script type="application/ld+json">{"@type": "Thing"}</script>
<script type="application/ld+json">{broken</script></head><body>
<a href="/x y">ne<b>xt</b></a> <a>nowhere</a>
<table class=facts><tr><th>kind<td>green<tr><th>year<td>2013</table>
<table class=people><tr><th>name<th>role<th>role</tr>
<tr><td>王芳<td colspan=2>chair<tr><td>Li</table>
<table><tr><td>1<td>1</table><script>hidden()</script></body></html>"""


@pytest.fixture(scope="module", params=["open", "tight"])
def bench(request: pytest.FixtureRequest) -> Iterator[Bench]:
    sandbox = request.getfixturevalue("tight") if request.param == "tight" else Sandbox()
    bench = Bench(Limits(timeout_s=60), sandbox)
    yield bench
    bench.hosts.close()


def parsed(
    bench: Bench, raw: bytes, parser: str, about: dict[str, Any] | None = None, **options: Any
) -> Any:
    parsers = Parsers([Rule("*", parser, options, timeout_s=60)], Path())
    script = parsers.script_of(parsers.rules[0])
    about = {"source": "http://h.example/dir/", "type": None} | (about or {})
    return orjson.loads(bench.hosts.parse(script, raw, about).json)


@pytest.fixture
def tesseract() -> None:
    needs.program("tesseract", "tesseract-ocr")


class TestHtml:
    def test_all_there_is_on_a_page(self, bench: Bench) -> None:
        assert parsed(bench, TEA.encode(), "html") == {
            "title": "Tea & Co",
            "meta": {"author": "Wu", "tag": ["a", "b"], "og:title": "茶"},
            "json_ld": [{"@type": "Thing"}],
            "links": [{"text": "next", "url": "http://h.example/x%20y"}],
            "tables": [
                [{"kind": "green", "year": "2013"}],
                [
                    {"name": "王芳", "role": "chair", "role 2": "chair"},
                    {"name": "Li", "role": "", "role 2": ""},
                ],
                [{"1": "1", "2": "1"}],
            ],
            "text": "ne xt nowhere kind green year 2013 name role role 王芳 chair Li 1 1",
        }

    def test_fields(self, bench: Bench) -> None:
        fields = {
            "title": "title",
            "link": "//a/@href",
            "cells": ["table.facts td::text"],
            "none": "h1",
            "people": {"each": ".people tr + tr", "name": "td", "role": "td:nth-child(2)"},
            "facts": {"kind": "//td[1]"},
        }
        assert parsed(bench, TEA.encode(), "html", fields=fields) == {
            "title": "Tea & Co",
            "link": "/x y",
            "cells": ["green", "2013"],
            "none": None,
            "people": [{"name": "王芳", "role": "chair"}, {"name": "Li", "role": None}],
            "facts": {"kind": "green"},
        }

    @pytest.mark.parametrize(
        ("raw", "type"),
        [
            (TEA.encode("gb18030"), "text/html; charset=gb2312"),
            (TEA.replace("<head>", "<head><meta charset=gbk>").encode("gbk"), None),
            (TEA.encode("utf-16"), None),
            (b"\xef\xbb\xbf" + TEA.encode(), "text/html; charset=latin-1"),
        ],
    )
    def test_it_is_decoded_as_a_browser_does(
        self, bench: Bench, raw: bytes, type: str | None
    ) -> None:
        found = parsed(bench, raw, "html", {"type": type})
        assert found["meta"]["og:title"] == "茶"
        found = parsed(bench, raw, "html", {"type": type}, fields={"name": ".people td"})
        assert found == {"name": "王芳"}

    @pytest.mark.parametrize("raw", [b"", b"\0", b"<", b"<table><tr><td colspan=9999999 rowspan=9"])
    def test_whatever_comes_is_a_page(self, bench: Bench, raw: bytes) -> None:
        assert parsed(bench, raw, "html")["title"] is None
        assert parsed(bench, raw, "html", fields={"a": "h1"}) == {"a": None}

    def test_addresses_stay_as_they_are_where_the_pages_own_is_unknown(self, bench: Bench) -> None:
        found = parsed(bench, b"<a href=' b.html '>b</a>", "html", {"source": "raw/a.html"})
        assert found["links"] == [{"text": "b", "url": "b.html"}]


class TestJson:
    @pytest.mark.parametrize(
        ("raw", "value"),
        [
            (b' {"a": 1}\n', {"a": 1}),
            (b'{"a": 1}\n\n{"a": 2}\r\n', [{"a": 1}, {"a": 2}]),
            (b"\xef\xbb\xbf[1]", [1]),
            ('["茶"]'.encode("utf-16"), ["茶"]),
            ('["茶"]'.encode("utf-32"), ["茶"]),
            ('["中文茶叶公司登记信息"]'.encode("gb18030"), ["中文茶叶公司登记信息"]),
        ],
    )
    def test_a_value_or_lines(self, bench: Bench, raw: bytes, value: object) -> None:
        assert parsed(bench, raw, "json") == value

    def test_what_is_json_is_kept_digit_by_digit(self, bench: Bench) -> None:
        raw = b'{"number": 123456789012345678901234567890, "price": 10.50}'
        parsers = Parsers([Rule("*", "json")], Path())
        answer = bench.hosts.parse(parsers.script_of(parsers.rules[0]), raw, {})
        assert answer.json == raw

    def test_one_line_is_a_list_if_lines_are_asked_for(self, bench: Bench) -> None:
        assert parsed(bench, b'{"a": 1}', "json", lines=True) == [{"a": 1}]

    @pytest.mark.parametrize(
        ("raw", "reason"),
        [
            (b'{"a": 1}\n{"a": }\n', r"not JSON: line 2: .*, column 7"),
            (b'{"a": ', r"not JSON: .*, line 1, column 7"),
            (b"[NaN]", r"not JSON"),
            (b"1\n2", r"not JSON"),
            (b'["\\ud800"]', r"not JSON"),
            (b"[" * 100_000, r"not JSON"),
            (b"", r"not JSON"),
            (b"null", r"returned nothing"),
            (b"\xff\xfe[\xd8", r"begins like utf-16"),
        ],
    )
    def test_what_is_none(self, bench: Bench, raw: bytes, reason: str) -> None:
        with pytest.raises(GiveUp, match=reason):
            parsed(bench, raw, "json")


class TestPdf:
    def test_pages_with_their_text(self, bench: Bench) -> None:
        raw = pdf_of([text_at(50, 700, "licence: L-7"), text_at(50, 700, "until: 2027"), ""])
        assert parsed(bench, raw, "pdf")["pages"] == [
            {"page": 1, "text": "licence: L-7"},
            {"page": 2, "text": "until: 2027"},
            {"page": 3, "text": ""},
        ]

    def test_a_table_over_several_pages_is_one(self, bench: Bench) -> None:
        pytest.importorskip("pdfplumber")
        raw = pdf_of(
            [
                text_at(50, 750, "Report") + ruled([["name", "year"], ["tea", "2013"]]),
                ruled([["name", "year"], ["milk", "2014"]]),
                ruled([["salt", "2015"]]) + ruled([["a", "b", "c"], ["1", "", "3"]], 500),
            ]
        )
        assert parsed(bench, raw, "pdf", tables={})["tables"] == [
            {
                "pages": [1, 2, 3],
                "rows": [
                    {"name": "tea", "year": "2013"},
                    {"name": "milk", "year": "2014"},
                    {"name": "salt", "year": "2015"},
                ],
            },
            {"pages": [3], "rows": [{"a": "1", "b": "", "c": "3"}]},
        ]
        by_text = parsed(bench, raw, "pdf", tables={"text_x_tolerance": 2})["tables"]
        assert by_text == parsed(bench, raw, "pdf", tables={})["tables"]

    @pytest.mark.parametrize(
        ("raw", "reason"),
        [
            (b"", "empty"),
            (b"hello", "this is no PDF"),
            (b"%PDF-1.4 and no more", "the PDF is broken"),
            (pdf_of([]), "the PDF is broken"),
            (locked_pdf(), "the PDF is encrypted: it opens only with a password"),
        ],
    )
    def test_what_cannot_be_read(self, bench: Bench, raw: bytes, reason: str) -> None:
        asked: list[dict[str, Any]] = [{}, {"tables": {}}]
        for options in asked:
            with pytest.raises(GiveUp, match=reason):
                parsed(bench, raw, "pdf", **options)

    def test_real_ones(self) -> None:
        folder = real("pdf")
        report = (folder / "WARN-Report-for-7-1-2015-to-03-25-2016.pdf").read_bytes()
        table, by_month = alone(report, "pdf", tables={})["tables"]
        first = "06/22/2015, 03/25/2016, 07/01/2015, Maxim Integrated Product, San Jose, 150"

        assert ", ".join(table["rows"][0].values()) == f"{first}, Closure Permanent"
        assert (table["pages"], len(table["rows"])) == ([*range(1, 16)], 633)
        assert by_month["rows"][-1]["Notices"] == "632"
        text = alone((folder / "crazyones.pdf").read_bytes(), "pdf")["pages"][0]["text"]
        assert words(text) == words((folder / "crazyones.txt").read_text(encoding="utf-8"))
        for name in ("password-example", "r5-user-password"):
            with pytest.raises(GiveUp, match=r"only with a password"):
                alone((folder / f"{name}.pdf").read_bytes(), "pdf")
        for name in ("senate-expenditures", "table-curves-example"):
            assert alone((folder / f"{name}.pdf").read_bytes(), "pdf", tables={})["tables"]


@pytest.mark.usefixtures("tesseract")
class TestOcr:
    def test_words_with_their_places(self, bench: Bench) -> None:
        found = parsed(bench, scan_of("Green tea from\nthe market 2013"), "ocr")

        assert found["text"] == "Green tea from\nthe market 2013"
        (page,) = found["pages"]
        assert (page["page"], page["width"], page["height"]) == (1, 1200, 200)
        assert [word["text"] for word in page["words"]] == found["text"].split()
        for word in page["words"]:
            assert 0 <= word["left"] <= word["left"] + word["width"] <= 1200
            assert 80 < word["confidence"] <= 100

    def test_pages_of_a_tiff_and_of_a_pdf(self, bench: Bench) -> None:
        tiff = scan_of("first page", "second page", format="TIFF")
        pdf = pdf_of([text_at(50, 700, "first page"), text_at(50, 700, "second page")])
        for raw in (tiff, pdf):
            found = parsed(bench, raw, "ocr")
            assert [page["text"] for page in found["pages"]] == ["first page", "second page"]
            assert [page["page"] for page in found["pages"]] == [1, 2]

    def test_an_empty_page(self, bench: Bench) -> None:
        assert parsed(bench, scan_of(" "), "ocr")["text"] == ""

    @pytest.mark.parametrize(
        ("raw", "options", "reason"),
        [
            (b"no picture", {}, r"this is no picture that tesseract can read"),
            (b"", {}, r"empty"),
            (b"\x89PNG\r\n\x1a\nbroken", {}, r"this is no picture that tesseract can read"),
            (locked_pdf(), {}, r"only with a password"),
            (scan_of("x"), {"languages": ["xyz"]}, r"apt install tesseract-ocr-xyz"),
        ],
    )
    def test_what_cannot_be_read(
        self, bench: Bench, raw: bytes, options: dict[str, Any], reason: str
    ) -> None:
        with pytest.raises(GiveUp, match=reason):
            parsed(bench, raw, "ocr", **options)

    def test_it_has_a_time_limit_of_its_own(self) -> None:
        raw = scan_of("\n".join(["many words on a page that takes long"] * 40))
        with pytest.raises(GiveUp, match=r"tesseract was not done in time"):
            ocr.RawParser().parse(raw, {"seconds": 0.2})

    @pytest.mark.parametrize("name", ["eurotext", "8087_054.3B"])
    def test_real_ones(self, name: str) -> None:
        folder = real("ocr")
        text = alone((folder / f"{name}.tif").read_bytes(), "ocr")["text"]
        meant = (folder / f"{name}.txt").read_text(encoding="utf-8")
        alike = difflib.SequenceMatcher(None, words(text), words(meant), autojunk=False)
        assert alike.ratio() >= 0.95


def alone(raw: bytes, parser: str, **options: Any) -> Any:
    """With no process around it."""
    found = import_module(f"tools.structure.parsers.{parser}").RawParser(**options)
    return found.parse(raw, {}) if parser == "ocr" else found.parse(raw)


def test_without_tesseract_the_user_learns_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(GiveUp, match=r"apt install tesseract-ocr"):
        ocr.RawParser().parse(b"a scan", {})


def words(text: str) -> str:
    return " ".join(unicodedata.normalize("NFKC", text).split())
