"""A register of two companies: pages, a report and a licence, their parsers, the export, and the
rows that must come of it.

Promise: the same folder always has the same bytes, and what is in it needs nothing beside it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from datetime import date
from decimal import Decimal
from pathlib import Path
from textwrap import dedent
from typing import Any

JOB = """\
about = "a register of two companies"
source = "folder:raw"
export = "register.json"
priority = 2

[[parsers]]
match = "*.html"
parser = "parsers/company.py"

[[parsers]]
match = "*.json"
parser = "json"

[[parsers]]
match = "*.pdf"
parser = "parsers/licence.py"
"""

COMPANY = '''\
from parsel import Selector

HEADS = ("序号", "姓名", "职务")


class RawParser:
    """What a page of the register tells: facts, and people."""

    def parse(self, raw):
        page = Selector(body=raw, type="html")
        facts = {}
        for line in page.xpath("//dl[@id='facts']/dt"):
            value = line.xpath("following-sibling::dd[1]/text()").get("")
            facts[line.xpath("string()").get()] = value
        people = [
            dict(zip(HEADS, line.xpath("td/text()").getall()))
            for line in page.xpath("//table[@id='people']//tr[td]")
        ]
        return {facts["统一社会信用代码"]: {"基本": facts, "人员": people}}
'''

LICENCE = '''\
import pypdfium2


class RawParser:
    """A licence has a line for each thing it says."""

    def parse(self, raw):
        with pypdfium2.PdfDocument(raw) as document:
            lines = document[0].get_textpage().get_text_bounded().splitlines()
        said = dict(line.split(": ", 1) for line in lines if ": " in line)
        licence = {"编号": said["number"].strip(), "有效期至": said["valid until"].strip()}
        return {said["holder"].strip(): {"许可": licence}}
'''

LICENCE_LINES = ("holder: 91A", "number: L-2016/7", "valid until: 2027-06-30")

REPORTS = {
    "91A": {
        "年报": [
            {"序号": "1", "年度": "2013", "详情": {"资产": {"资产总额": 10.5, "利润总额": -3}}},
            {"序号": "2", "年度": "2014", "详情": {}},
        ]
    }
}

DOCUMENTS: dict[str, dict[str, Any]] = {
    "a.html": {
        "91A": {
            "基本": {
                "名称": "北京茶业有限公司",
                "统一社会信用代码": "91A",
                "成立日期": "2013年12月18日",
                "注册资本": "5000000",
            },
            "人员": [
                {"序号": "1", "姓名": "王芳", "职务": "董事长"},
                {"序号": "2", "姓名": "O'Brien", "职务": "经理"},
            ],
        }
    },
    "b.html": {
        "91B": {
            "基本": {
                "名称": "上海",
                "统一社会信用代码": "91B",
                "成立日期": "2015-02-01",
                "注册资本": "",
            },
            "人员": [],
        }
    },
    "a-reports.json": REPORTS,
    "a.pdf": {"91A": {"许可": {"编号": "L-2016/7", "有效期至": "2027-06-30"}}},
}
"""What the parsers make of each file."""

TRUTH: dict[str, set[tuple[Any, ...]]] = {
    "company": {
        ("91A", "北京茶业有限公司", "91A", "2013-12-18", 5_000_000),
        ("91B", "上海", "91B", "2015-02-01", 0),
    },
    "person": {("91A", 1, "王芳", "董事长"), ("91A", 2, "O'Brien", "经理")},
    "report": {("91A", 1, 2013), ("91A", 2, 2014)},
    "assets": {("91A", 1, Decimal("10.50"), Decimal("-3.00"))},
    "licence": {("91A", "L-2016/7", "2027-06-30")},
}
"""The rows of each table, in the order of its declared columns; days are texts (`as_truth`)."""


def as_truth(rows: Iterable[Sequence[Any]]) -> set[tuple[Any, ...]]:
    """Rows of any database, to be compared with TRUTH; a decimal equals its number anyway."""
    return {
        tuple(each.isoformat() if isinstance(each, date) else each for each in row) for row in rows
    }


def make_register(folder: Path) -> Path:
    """Writes `structures/` with the job `register` and all that it names; its path."""
    structures = folder / "structures"
    for part in ("parsers", "raw"):
        (structures / part).mkdir(parents=True, exist_ok=True)
    texts = {
        "register.toml": JOB,
        "register.json": json.dumps(EXPORT, ensure_ascii=False, indent=2),
        "parsers/company.py": COMPANY,
        "parsers/licence.py": LICENCE,
        "raw/a.html": page("a.html", "北京茶业有限公司"),
        "raw/b.html": page("b.html", "上海<i>瓷</i>行"),
        "raw/a-reports.json": json.dumps(REPORTS, ensure_ascii=False),
    }
    for name, text in texts.items():
        (structures / name).write_text(text, encoding="utf-8")
    (structures / "raw/a.pdf").write_bytes(pdf(LICENCE_LINES))
    return structures


def page(name: str, title: str) -> str:
    ((_, record),) = DOCUMENTS[name].items()
    facts = {**record["基本"], "名称": title}
    listed = "\n".join(f"<dt>{key}</dt><dd>{value}</dd>" for key, value in facts.items())
    heads = "<tr><th>序号</th><th>姓名</th><th>职务</th></tr>"
    people = "\n".join(
        f"<tr>{''.join(f'<td>{value}</td>' for value in each.values())}</tr>"
        for each in record["人员"]
    )
    return dedent(
        """\
        <!doctype html>
        <html lang="zh"><head><meta charset="utf-8"><title>登记</title></head><body>
        <dl id="facts">
        {listed}
        </dl>
        <table id="people">
        {heads}
        {people}
        </table>
        </body></html>
        """
    ).format(listed=listed, heads=heads, people=people)


def pdf(lines: Sequence[str]) -> bytes:
    """A page of plain ASCII lines without parentheses, as small as a reader takes it."""
    shown = "\n".join(f"({line}) Tj T*" for line in lines)
    drawn = f"BT\n/Body 14 Tf\n72 700 Td\n18 TL\n{shown}\nET\n".encode("ascii")
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Count 1 /Kids [3 0 R] >>",
        b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Contents 4 0 R"
        b" /Resources << /Font << /Body 5 0 R >> >> >>",
        b"<< /Length %d >>\nstream\n%sendstream" % (len(drawn), drawn),
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Courier >>",
    ]
    written, places = bytearray(b"%PDF-1.4\n"), []
    for number, each in enumerate(objects, 1):
        places.append(len(written))
        written += b"%d 0 obj\n%s\nendobj\n" % (number, each)
    table = b"".join(b"%010d 00000 n \n" % place for place in places)
    size, start = len(objects) + 1, len(written)
    written += b"xref\n0 %d\n0000000000 65535 f \n%s" % (size, table)
    written += b"trailer\n<< /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n" % (size, start)
    return bytes(written)


def columns(**types: str) -> list[dict[str, str]]:
    """By name; what follows a `;` is the option."""
    return [
        {"dest_field": name, "datatype": kind.strip(), "option": option.strip()}
        for name, (kind, _, option) in ((name, said.partition(";")) for name, said in types.items())
    ]


KEY = "VARCHAR(32); NOT NULL"
NOBODY = dict.fromkeys(("dbtype", "host", "port", "username", "password", "dbname"), "")

EXPORT: dict[str, Any] = {
    "database": {
        "source_db": NOBODY,
        "destination_db": {**NOBODY, "dbtype": "sqlite", "dbname": "register.db"},
    },
    "mapping": {
        "公司": {
            "dest_table": "company",
            "source_path": ["基本"],
            "associated_field_source_path": [""],
            "dest_field": {
                "主键": "company_key",
                "名称": "name",
                "注册号": "number",
                "统一社会信用代码": "number",
                "成立日期": "founded",
                "注册资本": "capital",
            },
        },
        "人员": {
            "dest_table": "person",
            "source_path": ["人员"],
            "associated_field_source_path": [""],
            "dest_field": {
                "主键": "company_key",
                "序号": "seq",
                "姓名": "name",
                "职务": "position",
            },
        },
        "年报": {
            "dest_table": "report",
            "source_path": ["年报"],
            "associated_field_source_path": [""],
            "dest_field": {"主键": "company_key", "序号": "report_seq", "年度": "year"},
        },
        "资产": {
            "dest_table": "assets",
            "source_path": ["年报", "详情", "资产"],
            "associated_field_source_path": ["", "序号", ""],
            "dest_field": {
                "主键": "company_key",
                "序号": "report_seq",
                "资产总额": "total",
                "利润总额": "profit",
            },
        },
        "许可": {
            "dest_table": "licence",
            "source_path": ["许可"],
            "associated_field_source_path": [""],
            "dest_field": {"主键": "company_key", "编号": "number", "有效期至": "until"},
        },
    },
    "table": {
        "company": columns(
            company_key=KEY,
            name="VARCHAR(100)",
            number="VARCHAR(32)",
            founded="DATE",
            capital="BIGINT; DEFAULT 0",
        ),
        "person": columns(company_key=KEY, seq="INT", name="VARCHAR(50)", position="VARCHAR(50)"),
        "report": columns(company_key=KEY, report_seq="INT", year="INT"),
        "assets": columns(
            company_key=KEY, report_seq="INT", total="DECIMAL(16,2)", profit="DECIMAL(16,2)"
        ),
        "licence": columns(company_key=KEY, number="VARCHAR(32)", until="DATE"),
    },
}
"""The seed's format, as `register.json` has it."""
