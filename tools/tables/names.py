"""Names of tables and columns that every database keeps as they are.

Promise: no two names that a database would take for one. PostgreSQL cuts names at 63 bytes without
a word, MariaDB has no characters beyond U+FFFF in them, and some databases do not tell case apart.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from ..base.text import clipped, one_line
from ..errors import UsageError

LONGEST = 63  # bytes
OURS = "_"
FORBIDDEN = frozenset("\"'`[]\\;")


def check_names(names: Iterable[str], place: str) -> None:
    """Raises UsageError for the first that cannot be used."""
    names, seen = list(names), dict[str, str]()
    _check_cut(names, place)
    for name in names:
        if fault := _fault(name):
            raise UsageError(f"{place}: the name {clipped(one_line(repr(name)), 90)} {fault}")
        other = seen.setdefault(name.casefold(), name)
        if other != name:
            raise UsageError(f"{place}: {other!r} and {name!r} are the same name in some databases")


def _check_cut(names: Sequence[str], place: str) -> None:
    kept: dict[str, str] = {}
    for name in names:
        cut = name.encode(errors="replace")[:LONGEST].decode(errors="ignore")
        other = kept.setdefault(cut, name)
        if other != name:
            one, two = _where_they_differ(other, name)
            raise UsageError(
                f"{place}: {one!r} and {two!r} are the same in PostgreSQL, which cuts names at "
                f"{LONGEST} bytes"
            )


def _where_they_differ(one: str, other: str) -> Iterator[str]:
    """
    >>> list(_where_they_differ("企业" + "名" * 20 + "甲", "企业" + "名" * 20 + "乙"))
    ['企业...甲', '企业...乙']
    """
    same = next((at for at, both in enumerate(zip(one, other)) if len(set(both)) > 1), LONGEST)  # noqa: B905
    return (f"{name[:2]}...{clipped(name[same:] or name[-1], 40)}" for name in (one, other))


def _fault(name: str) -> str | None:
    if not name or name != name.strip():
        return "is empty, or begins or ends with a space"
    if name.startswith(OURS):
        return "begins with _, as only Sheaf's own columns and tables do"
    if not name.isprintable() or FORBIDDEN.intersection(name):
        return "must be without quotes, brackets, backslashes, semicolons and control characters"
    if max(name) > "\uffff":
        return f"has {max(name)!r}, which MariaDB does not allow in a name"
    size = len(name.encode())
    if size > LONGEST:
        return f"has {size} bytes, and PostgreSQL keeps {LONGEST}: choose a shorter one"
    return None


def shortened(name: str, end: str) -> str:
    """The name with this end, its own part cut so far that all of it is kept.

    >>> shortened("product", "_20261117_0530")
    'product_20261117_0530'
    >>> len(shortened("企" * 21, "_20261117_0530").encode())
    62
    """
    room = LONGEST - len(end.encode())
    return name.encode()[:room].decode(errors="ignore") + end
