"""The part `mapping` of an export's file: which part of a document fills which table.

Promise: a mapping that is returned without a mistake names only tables and columns that there are.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from ..base.mistakes import Section, shown
from ..base.text import did_you_mean
from ..tables.declared import Option, Table

MAPPING = ("dest_table", "source_path", "associated_field_source_path", "dest_field")
CARRIED = "associated_field_source_path"
OUTER = "主键"
"""The field that every row has: the key under which its record stands."""
NEEDED = {
    "dest_table": "write the name of one of the tables",
    "source_path": 'write the keys that lead to its rows, such as ["年报"]',
    CARRIED: 'write [""]',
    "dest_field": 'write the column of each field, such as {"名称": "name"}',
}


class Mapped(NamedTuple):
    """`carried[i]` is a field of what `path[i]` is applied to; "" is none."""

    name: str
    table: str
    path: tuple[str, ...]
    carried: tuple[str, ...]
    fields: Mapping[str, str]

    def sources(self) -> dict[str, list[str]]:
        """By column, in the file's order."""
        found: dict[str, list[str]] = {}
        for field, column in self.fields.items():
            found.setdefault(column, []).append(field)
        return found


def export_mappings(section: Section, tables: Mapping[str, Table]) -> dict[str, Mapped]:
    if not section.said:
        section.mistakes.say(f"{section.place} has no mappings: write which fields fill a table")
    return {
        name: _mapped(name, section.section(name, MAPPING), tables)
        for name, said in section.said.items()
        if _is_object(said, section, name)
    }


def _is_object(said: object, section: Section, name: str) -> bool:
    """Of what is none nothing more is missed than that."""
    if not isinstance(said, Mapping):
        section.section(name)
    return isinstance(said, Mapping)


def _mapped(name: str, section: Section, tables: Mapping[str, Table]) -> Mapped:
    for key, remedy in NEEDED.items():
        if key not in section:
            section.mistakes.say(f"{section.place} has no {key}: {remedy}")
    path = section.texts("source_path")
    if "" in path:
        section.wrong("source_path", '"" is no key; write [] for the record itself')
    table = section.text("dest_table")
    if "dest_table" in section and table not in tables:
        hint = did_you_mean(table, tables)
        section.mistakes.say(f"{section.at('dest_table')} {shown(table)} is not in table{hint}")
    return Mapped(name, table, path, _carried(section, path), _fields(section, tables.get(table)))


def _carried(section: Section, path: tuple[str, ...]) -> tuple[str, ...]:
    """As long as the path: a shorter list carries nothing further down."""
    carried = section.texts(CARRIED)
    if carried == ("",):
        carried = ()
    if len(carried) > len(path):
        section.mistakes.say(
            f"{section.at(CARRIED)} has {len(carried)} entries, source_path {len(path)}"
        )
    return (*carried, *[""] * (len(path) - len(carried)))


def _fields(section: Section, table: Table | None) -> dict[str, str]:
    fields = section.section("dest_field")
    if "dest_field" in section and not fields.said:
        section.wrong("dest_field", "fills no column: write at least one")
    columns = {field: fields.text(field) for field in fields.said}
    for field, column in columns.items():
        if isinstance(fields.said[field], str) and table and column not in table.columns:
            hint = did_you_mean(column, table.columns)
            fields.mistakes.say(
                f"{fields.place}: table {table.name!r} has no column {shown(column)}{hint}"
            )
    return columns


def doubts(mappings: Mapping[str, Mapped], tables: Mapping[str, Table]) -> list[str]:
    """What may be meant so, but seldom is."""
    filled = {each.table for each in mappings.values()}
    found = [
        f"table.{name}: no mapping fills it, so it stays empty"
        for name in tables
        if name not in filled
    ]
    for each in mappings.values():
        found += _never_taken(each)
        found += _never_filled(each, tables[each.table])
    return found


def _never_taken(mapped: Mapped) -> list[str]:
    return [
        f"mapping.{mapped.name}.{CARRIED}: {field!r} is carried down, but dest_field has no column "
        "for it"
        for field in dict.fromkeys(mapped.carried)
        if field and field not in mapped.fields
    ]


def _never_filled(mapped: Mapped, table: Table) -> list[str]:
    filled = set(mapped.fields.values())
    return [
        f"mapping.{mapped.name}: {table.name}.{column} is NOT NULL without a DEFAULT, and "
        "dest_field does not fill it, so none of its rows can be stored"
        for column in table.columns
        if column not in filled and _must_be_filled(table.option(column))
    ]


def _must_be_filled(option: Option) -> bool:
    return option.is_required and not (option.has_default or option.is_counted)
