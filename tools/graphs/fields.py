"""The fields of the three tables that a graph is, the same in every store and every export.

Which fields a record has, of what type and which may be missing, the records themselves say
(`add.py`). Here stands what a table has besides: an entity and a relation list the paths of their
media by kind, a file names its owner. A new field of a record is in all exports at once; the stores
that cannot take it by themselves are named by tests/graphs/test_fields.py.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple, get_args, get_type_hints

from ..add import KINDS, Entity, Media, Relation

NAMES = {"surface_text": "surfaceText"}  # as ConceptNet calls it


class Field(NamedTuple):
    name: str
    type: type[Any]  # str, int or float; or list, of paths
    is_optional: bool = False


def _fields(record: type[Any]) -> list[Field]:
    found = get_type_hints(record).items()
    return [Field(NAMES.get(name, name), *_type(hint)) for name, hint in found]


def _type(hint: Any) -> tuple[type[Any], bool]:
    """
    >>> _type(float), _type(int | None)
    ((<class 'float'>, False), (<class 'int'>, True))
    """
    return (get_args(hint)[0], True) if get_args(hint) else (hint, False)


def names(fields: Iterable[Field]) -> tuple[str, ...]:
    return tuple(each.name for each in fields)


_LISTS = [Field(kind, list, is_optional=True) for kind in KINDS]
_PATH, *_ABOUT_IT = _fields(Media)
TABLES = {
    "entities": (*_fields(Entity), *_LISTS),
    "relations": (*_fields(Relation), *_LISTS),
    "media": (_PATH, Field("owner", str), *_ABOUT_IT),
}
