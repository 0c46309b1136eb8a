"""Made-up nested documents for `bench/structure.py`: tea farms with members, reports, inspections.

Promise: the same number gives the same documents, byte by byte. A document is about 760 bytes of
JSON and gives five rows on average, in five tables. `EXPORT` is the mapping of them, as a user of
the job `structure` writes it. Nothing of ours is needed to make them, and a peer can import it.

    python bench/structure_documents.py 100000 FILE.jsonl
"""

from __future__ import annotations

import csv
import json
import random
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

SEED = 17
KEY = "主键"
TABLES = ("farm", "member", "report", "assets", "inspection")
FAMILY, GIVEN = (
    "王李张刘陈杨黄赵吴周徐孙马朱胡郭何林高罗",
    "芳伟敏静强磊洋艳勇军杰娟涛明超霞平刚桂英",
)
PLACES = ("安溪", "武夷山", "西湖", "信阳", "黄山", "普洱", "都匀", "勐海", "祁门", "福鼎")
KINDS = ("绿茶", "红茶", "乌龙茶", "白茶", "黑茶", "黄茶", "花茶")
DUTIES = ("理事长", "监事", "会计", "种植员", "制茶师")
SCOPE = ("茶叶种植、加工、销售;", "农资采购与技术咨询;", "茶园观光;", "茶具零售与茶艺培训;")


def documents(count: int) -> Iterator[dict[str, dict[str, Any]]]:
    """Each has a shell: its key, and what is known of it."""
    chance = random.Random(SEED)
    for number in range(count):
        yield {f"F{number:07}": _farm(chance, number)}


def _farm(chance: random.Random, number: int) -> dict[str, Any]:
    place, kind = chance.choice(PLACES), chance.choice(KINDS)
    founded = f"{chance.randint(1995, 2022)}年{chance.randint(1, 12)}月{chance.randint(1, 28)}日"
    basics = {
        "名称": f"{place}{kind}合作社{number}号",
        "登记号" if number % 3 else "旧登记号": f"N{chance.randrange(10**8):08}",
        "成立日期": founded,
        "出资额": f"{1000 * chance.randrange(10, 5000):,}.00",
        "地址": f"{place}镇{chance.randint(1, 60)}村{chance.randint(1, 200)}号",
        "经营范围": "".join(chance.choices(SCOPE, k=8)),
    }
    members = [_member(chance, place) for _ in range(chance.randint(1, 2))]
    reports = [_report(chance, at) for at in range(1, chance.randint(0, 2) + 1)]
    inspections = [_inspection(chance) for _ in range(chance.randint(0, 1))]
    return {"基本": basics, "成员": members, "年报": reports, "检验": inspections}


def _member(chance: random.Random, place: str) -> dict[str, Any]:
    name = chance.choice(FAMILY) + "".join(chance.choices(GIVEN, k=2))
    return {
        "姓名": name,
        "职务": chance.choice(DUTIES),
        "籍贯": place,
        "股数": chance.randint(1, 90),
    }


def _report(chance: random.Random, at: int) -> dict[str, Any]:
    assets = {
        "资产总额": chance.randrange(10**7) / 100,
        "利润总额": chance.randrange(-(10**6), 10**6) / 100,
    }
    return {"序号": str(at), "年度": str(2020 + at), "详情": {"资产": assets}}


def _inspection(chance: random.Random) -> dict[str, Any]:
    day = f"2024-{chance.randint(1, 12):02}-{chance.randint(1, 28):02}"
    return {
        "日期": day,
        "结论": chance.choice(("合格", "不合格")),
        "水分": chance.randint(30, 90) / 10,
    }


def write_lines(count: int, path: Path) -> None:
    """A document in each line."""
    with path.open("w", encoding="utf-8") as file:
        file.writelines(f"{_text(document)}\n" for document in documents(count))


def write_csv(lines: Iterable[dict[str, Any]], path: Path) -> None:
    """The same as a source of the job: `csv:FILE?body=raw&key=id`."""
    with path.open("w", encoding="utf-8", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(("id", "raw"))
        rows.writerows((*document, _text(document)) for document in lines)


def _text(document: dict[str, Any]) -> str:
    return json.dumps(document, ensure_ascii=False)


def rows_of(key: str, farm: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Table and row: what somebody would write by hand for these documents alone."""
    basics = dict(farm["基本"])
    basics["登记号"] = basics.get("登记号") or basics.pop("旧登记号")
    yield "farm", {KEY: key, **basics}
    for member in farm["成员"]:
        yield "member", {KEY: key, **member}
    for report in farm["年报"]:
        yield "report", {KEY: key, "序号": report["序号"], "年度": report["年度"]}
        yield "assets", {KEY: key, "序号": report["序号"], **report["详情"]["资产"]}
    for inspection in farm["检验"]:
        yield "inspection", {KEY: key, **inspection}


def _mapped(table: str, path: list[str], carried: list[str], fields: dict[str, str]) -> Any:
    return {
        "dest_table": table,
        "source_path": path,
        "associated_field_source_path": carried,
        "dest_field": {KEY: "farm_key", **fields},
    }


def _columns(**types: str) -> list[dict[str, str]]:
    key = {"dest_field": "farm_key", "datatype": "VARCHAR(16)", "option": "NOT NULL"}
    return [key, *({"dest_field": n, "datatype": t, "option": ""} for n, t in types.items())]


_FARM = {
    "名称": "name",
    "登记号": "number",
    "旧登记号": "number",  # the first of both that is not empty
    "成立日期": "founded",
    "出资额": "capital",
    "地址": "address",
    "经营范围": "scope",
}
_MEMBER = {"姓名": "name", "职务": "duty", "籍贯": "home", "股数": "shares"}
_ASSETS = {"序号": "seq", "资产总额": "total", "利润总额": "profit"}
EXPORT = {
    "database": {"destination_db": {"dbtype": "sqlite", "dbname": "rows.db"}},
    "mapping": {
        "合作社": _mapped("farm", ["基本"], [""], _FARM),
        "成员": _mapped("member", ["成员"], [""], _MEMBER),
        "年报": _mapped("report", ["年报"], [""], {"序号": "seq", "年度": "year"}),
        "资产": _mapped("assets", ["年报", "详情", "资产"], ["", "序号", ""], _ASSETS),
        "检验": _mapped(
            "inspection", ["检验"], [""], {"日期": "day", "结论": "verdict", "水分": "moisture"}
        ),
    },
    "table": {
        "farm": _columns(
            name="VARCHAR(60)", number="VARCHAR(20)", founded="DATE", capital="DECIMAL(16,2)",
            address="VARCHAR(80)", scope="TEXT",
        ),
        "member": _columns(
            name="VARCHAR(20)", duty="VARCHAR(20)", home="VARCHAR(20)", shares="INT"
        ),
        "report": _columns(seq="INT", year="INT"),
        "assets": _columns(seq="INT", total="DECIMAL(14,2)", profit="DECIMAL(14,2)"),
        "inspection": _columns(day="DATE", verdict="VARCHAR(10)", moisture="DECIMAL(4,1)"),
    },
}  # fmt: skip


def main(count: str, file: str) -> None:
    write_lines(int(count), Path(file))


if __name__ == "__main__":
    main(*sys.argv[1:])
