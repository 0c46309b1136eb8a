"""The part `table` of an export's file: names, types and options of its columns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from ..base.mistakes import Mistakes, Section, shown
from ..errors import UsageError
from ..tables.datatype import DataType, datatype
from ..tables.declared import PLAIN, Table, checked, tables_of
from ..tables.names import check_names
from .json_file import JsonSection
from .option import ParsedOption, parsed_option

COLUMN = ("dest_field", "datatype", "option")
UNKNOWN = DataType("text")
"""Instead of a type that is wrong, so that the rest can be checked all the same."""


def export_tables(section: Section) -> dict[str, Table]:
    """With every mistake told; none of the tables is of use if there is one."""
    if not section.said:
        section.mistakes.say(f"{section.place} has no tables: write their columns in it")
    try:
        check_names(section.said, section.place)
    except UsageError as error:
        section.mistakes.say(str(error))
    return {
        name: _table(name, said, section.at(name), section.mistakes)
        for name, said in section.said.items()
    }


def _table(name: str, said: object, place: str, mistakes: Mistakes) -> Table:
    if not isinstance(said, list) or not said:
        mistakes.add(place, f"must be a list of columns, not {shown(said)}")
        return Table(name, {}, own="document")
    columns: dict[str, DataType] = {}
    options: dict[str, ParsedOption] = {}
    for number, each in enumerate(said):
        column = JsonSection(each, f"{place}[{number}]", mistakes, COLUMN)
        field = column.text("dest_field")
        if not field and isinstance(each, Mapping):
            mistakes.say(f"{column.place} has no dest_field: write the name of the column")
        elif field in columns:
            column.wrong("dest_field", f"{field!r} stands twice in {name!r}: rename one")
        columns[field] = _type(column)
        options[field] = _option(column)
    return _checked(name, columns, options, mistakes)


def _type(column: Section) -> DataType:
    said = column.text("datatype")
    if "datatype" not in column:
        if column.said:
            column.mistakes.say(f"{column.place} has no datatype: write one, such as VARCHAR(100)")
        return UNKNOWN
    try:
        return datatype(said)
    except ValueError as error:
        column.mistakes.say(f"{column.at('datatype')} {error}")
        return UNKNOWN


def _option(column: Section) -> ParsedOption:
    try:
        return parsed_option(column.text("option"))
    except ValueError as error:
        column.mistakes.say(f"{column.at('option')} {error}")
        return ParsedOption(PLAIN, False)


def _checked(
    name: str, columns: dict[str, DataType], parsed: dict[str, ParsedOption], mistakes: Mistakes
) -> Table:
    """By the rules that hold for all declared tables."""
    key = [column for column, each in parsed.items() if each.is_key]
    options = {column: each.option for column, each in parsed.items() if each.option != PLAIN}
    try:
        (table,) = tables_of({name: {"columns": columns, "key": key}}, "table").values()
        return checked(replace(table, options=options, own="document"), f"table.{name}")
    except UsageError as error:
        mistakes.say(str(error))
        return Table(name, columns, own="document")
