"""Tables as a task or a mapping declares them, checked before a database sees them.

Promise: what was checked is the same table on every database. Its rows belong to requests or to
documents (`own`), of which our own columns tell.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from ..base.text import did_you_mean
from ..errors import UsageError
from .datatype import DataType, datatype
from .names import check_names

PARTS = ("columns", "key", "at_least")
MOST_COLUMNS = 1000
KEY_CHARACTERS = 675
"""What an index takes of a row: 2,704 bytes in PostgreSQL, 3,072 in MariaDB; four a character."""
ROW_BYTES = 65_000
"""MariaDB's 65,535 less our own columns; of a TEXT or JSON it counts 12 bytes at most."""
NOT_IN_KEYS = ("json", "blob")
TEXT, INTEGER = DataType("text"), DataType("integer")
OWN: Mapping[str, Mapping[str, DataType]] = {
    "request": {
        "_request": TEXT,
        "_n": INTEGER,
        "_seen": DataType("datetime"),
        "_activity": INTEGER,
    },
    "document": {"_document": TEXT, "_row": INTEGER},
    "nobody": {},
}
"""In every table: from what a row is, its number there, and of a request when it was seen last."""


class Option(NamedTuple):
    """What a column is besides its type. `is_counted`: rows without a number get the next one."""

    is_required: bool = False
    is_unique: bool = False
    default: object = None
    has_default: bool = False
    is_counted: bool = False
    is_unsigned: bool = False
    comment: str = ""


PLAIN = Option()


@dataclass(frozen=True)
class Table:
    """With a key, the same key again replaces the row; without one, the rows of a request replace
    its earlier rows. `at_least` is the share of rows that should have something in a column."""

    name: str
    columns: Mapping[str, DataType]
    key: tuple[str, ...] = ()
    at_least: Mapping[str, float] = field(default_factory=dict)
    options: Mapping[str, Option] = field(default_factory=dict)
    own: str = "request"

    def __post_init__(self) -> None:
        """A TEXT of a key is as long as an index can take it, on every database."""
        texts = [name for name in self.key if self.columns[name].kind == "text"]
        room = (KEY_CHARACTERS - self.key_characters) // max(len(texts), 1)
        changed = dict.fromkeys(texts, DataType("varchar", room))
        for name, option in self.options.items():
            wanted = changed.get(name, self.columns[name])
            if option.is_unique and wanted.kind == "text":
                changed[name] = DataType("varchar", KEY_CHARACTERS)
            elif option.is_unsigned and wanted.is_number:
                changed[name] = replace(wanted, is_unsigned=True)
        if changed:
            object.__setattr__(self, "columns", {**self.columns, **changed})

    def option(self, name: str) -> Option:
        return self.options.get(name, PLAIN)

    @property
    def own_columns(self) -> Mapping[str, DataType]:
        return OWN[self.own]

    @property
    def source_column(self) -> str:
        """By which the earlier rows of a request or document are found."""
        return next(iter(OWN[self.own]))

    @property
    def counted(self) -> str | None:
        return next((name for name, each in self.options.items() if each.is_counted), None)

    @property
    def row_bytes(self) -> int:
        """What MariaDB counts."""
        return sum(
            4 * (each.length or 0) + 2 if each.kind == "varchar" else 12
            for each in self.columns.values()
        )

    @property
    def key_characters(self) -> int:
        return sum(self.columns[name].length or 0 for name in self.key if self._is_text(name))

    def _is_text(self, name: str) -> bool:
        return self.columns[name].is_text


def tables_of(declared: Mapping[str, object], place: str = "tables") -> dict[str, Table]:
    """Raises UsageError with the place and the nearest right name."""
    if not isinstance(declared, Mapping):
        raise UsageError(f"{place} must be tables by their names")
    check_names(declared, place)
    return {name: _table(name, said, f"{place}.{name}") for name, said in declared.items()}


def _table(name: str, said: object, place: str) -> Table:
    if not isinstance(said, Mapping):
        raise UsageError(f'{place} must be a table with columns = {{name = "TYPE"}}')
    for part in said:
        if part not in PARTS:
            raise UsageError(f"{place} has no {part!r}{did_you_mean(str(part), PARTS)}")
    columns = _columns(said.get("columns"), f"{place}.columns")
    key = tuple(_names(said.get("key", ()), columns, f"{place}.key"))
    _check_key(key, columns, f"{place}.key")
    table = Table(name, columns, key)
    _check_row(table, place)
    return replace(
        table, at_least=_at_least(said.get("at_least", {}), columns, f"{place}.at_least")
    )


def checked(table: Table, place: str) -> Table:
    """One that a mapping made of its own words; raises UsageError with the place and the fault."""
    check_names([table.name], place)
    check_names(table.columns, place)
    _check_key(table.key, table.columns, place)
    for name, option in table.options.items():
        if fault := _fault(table, name, option):
            raise UsageError(f"{place}: column {name!r} {fault}")
    if sum(option.is_counted for option in table.options.values()) > 1:
        raise UsageError(f"{place}: only one column can be AUTO_INCREMENT")
    _check_row(table, place)
    return table


def _fault(table: Table, name: str, option: Option) -> str | None:
    wanted = table.columns[name]
    if option.is_unsigned and not wanted.is_number:
        return f"is {wanted}, and only numbers are UNSIGNED"
    if option.is_unique and (wanted.kind in NOT_IN_KEYS or (wanted.length or 0) > KEY_CHARACTERS):
        return f"is {wanted}, which cannot be UNIQUE: an index takes {KEY_CHARACTERS} characters"
    if option.is_counted and not wanted.bounds:
        return f"is {wanted}, and only whole numbers are counted: take AUTO_INCREMENT out"
    if option.is_counted and not (option.is_unique or table.key == (name,)):
        return "is AUTO_INCREMENT: write PRIMARY KEY or UNIQUE beside it"
    if option.has_default and wanted.kind == "blob":
        return "is BLOB, which has no DEFAULT"
    try:
        wanted.fitted(option.default)
    except ValueError as error:
        return f"has a DEFAULT that does not fit: {error}"
    return None


def _columns(said: object, place: str) -> dict[str, DataType]:
    if not isinstance(said, Mapping) or not said:
        raise UsageError(f'{place} must have columns: {{name = "TYPE"}}')
    if len(said) > MOST_COLUMNS:
        raise UsageError(
            f"{place} has {len(said):,} columns; at most {MOST_COLUMNS:,} are possible"
        )
    check_names(said, place)
    return {name: _type(each, f"{place}.{name}") for name, each in said.items()}


def _type(said: object, place: str) -> DataType:
    if isinstance(said, DataType):
        return said
    if not isinstance(said, str):
        raise UsageError(f'{place} must be a type in quotes, such as "TEXT"')
    try:
        return datatype(said)
    except ValueError as error:
        raise UsageError(f"{place}: {error}") from None


def _names(said: object, columns: Mapping[str, Any], place: str) -> Sequence[str]:
    names = [said] if isinstance(said, str) else said
    if not isinstance(names, list | tuple) or not all(isinstance(each, str) for each in names):
        raise UsageError(f'{place} must be names of columns: ["name"]')
    for name in names:
        if name not in columns:
            raise UsageError(f"{place}: no column {name!r}{did_you_mean(name, columns)}")
    if len(set(names)) < len(names):
        raise UsageError(f"{place} names a column twice")
    return names


def _check_key(key: Sequence[str], columns: Mapping[str, DataType], place: str) -> None:
    for name in key:
        if columns[name].kind in NOT_IN_KEYS:
            raise UsageError(f"{place}: {name!r} is {columns[name]}, which cannot be part of a key")
    given = sum(columns[name].length or 0 for name in key if columns[name].kind == "varchar")
    texts = sum(columns[name].kind == "text" for name in key)
    if given + 20 * texts > KEY_CHARACTERS:
        raise UsageError(
            f"{place}: its texts have {given:,} characters, and an index takes {KEY_CHARACTERS}: "
            "make them shorter, or take fewer columns"
        )


def _check_row(table: Table, place: str) -> None:
    if table.row_bytes > ROW_BYTES:
        raise UsageError(
            f"{place}: a row may take {table.row_bytes:,} bytes, and MariaDB has {ROW_BYTES:,}: "
            "make the longest VARCHAR columns TEXT"
        )


def _at_least(said: object, columns: Mapping[str, Any], place: str) -> dict[str, float]:
    if not isinstance(said, Mapping):
        raise UsageError(f"{place} must be shares by column: {{price = 0.9}}")
    _names(list(said), columns, place)
    for name, share in said.items():
        if isinstance(share, bool) or not isinstance(share, int | float) or not 0 <= share <= 1:
            raise UsageError(f"{place}.{name} must be a share from 0 to 1, not {share!r}")
    return {name: float(share) for name, share in said.items()}
