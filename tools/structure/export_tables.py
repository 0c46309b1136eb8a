"""The part `table` of an export's file: names, types and options of its columns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from ..base.mistakes import Mistakes, Section, shown
from ..errors import UsageError
from ..tables.datatype import DataType, datatype
from ..tables.declared import KEY_CHARACTERS, Option, Table, tables_of
from ..tables.names import check_names
from .json_file import JsonSection
from .option import Parsed, parsed_option

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
    options: dict[str, Parsed] = {}
    for number, each in enumerate(said):
        column = JsonSection(each, f"{place}[{number}]", mistakes, COLUMN)
        field = column.text("dest_field")
        if not field and isinstance(each, Mapping):
            mistakes.say(f"{column.place} has no dest_field: write the name of the column")
        elif field in columns:
            column.wrong("dest_field", f"{field!r} stands twice in {name!r}: rename one")
        columns[field] = _type(column)
        options[field] = _option(column, columns[field])
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


def _option(column: Section, wanted: DataType) -> Parsed:
    try:
        found = parsed_option(column.text("option"), wanted)
        if found.option.is_unique and not found.is_key:
            _check_unique(wanted)
        return found
    except ValueError as error:
        column.mistakes.say(f"{column.at('option')} {error}")
        return Parsed(Option(), False)


def _check_unique(wanted: DataType) -> None:
    """An index takes no more, on some database."""
    if wanted.kind in ("text", "json", "blob") or (
        wanted.kind == "varchar" and wanted.longest > KEY_CHARACTERS
    ):
        raise ValueError(
            f"'UNIQUE' needs a VARCHAR({KEY_CHARACTERS}) or less, and this is {wanted}"
        )


def _checked(
    name: str, columns: dict[str, DataType], options: dict[str, Parsed], mistakes: Mistakes
) -> Table:
    """By the rules that hold for all declared tables."""
    counted = [column for column, each in options.items() if each.option.is_counted]
    if len(counted) > 1:
        mistakes.say(
            f"table.{name} has {len(counted)} columns with AUTO_INCREMENT: one is possible"
        )
    key = [column for column, each in options.items() if each.is_key]
    bare = Table(name, columns, own="document")
    try:
        (table,) = tables_of({name: {"columns": columns, "key": key}}, "table").values()
    except UsageError as error:
        mistakes.say(str(error))
        return bare
    said = {column: each.option for column, each in options.items() if each.option != Option()}
    return replace(table, options=said, own="document")
