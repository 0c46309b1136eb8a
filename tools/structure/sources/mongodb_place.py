"""Where a document of MongoDB is: its `_id` as text, and the question for those behind it.

Promise: ids of several kinds in one collection are all reached; the server compares an id only with
those of its own kind, so the kinds that come behind it are asked for besides. An id that another
machine made within the last minute may come to stand before one that was read: that minute is
looked at again.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

from bson import json_util
from bson.decimal128 import Decimal128
from bson.objectid import ObjectId

MINUTE = timedelta(minutes=1)
KINDS: tuple[tuple[tuple[type, ...], tuple[str, ...]], ...] = (
    ((int, float, Decimal, Decimal128), ("double", "int", "long", "decimal")),
    ((str,), ("string",)),
    ((Mapping,), ("object",)),
    ((bytes,), ("binData",)),
    ((ObjectId,), ("objectId",)),
    ((bool,), ("bool",)),
    ((datetime,), ("date",)),
)
"""In the order in which the server sorts them, with its own names."""


def place_of(id_: object) -> str:
    return json_util.dumps(id_, json_options=json_util.CANONICAL_JSON_OPTIONS)


def id_of(place: str) -> Any:
    return json_util.loads(place)


def behind(place: str) -> dict[str, Any]:
    """What finds all that follow."""
    last = id_of(place)
    at = next((number for number, (kinds, _) in enumerate(KINDS) if _is(last, kinds)), None)
    if at is None:  # nobody has such ids: from the beginning, which only costs time
        return {}
    others = [name for _, names in KINDS[at + 1 :] for name in names]
    after: dict[str, Any] = {"_id": {"$gt": last}}
    if isinstance(last, ObjectId):
        after = {"_id": {"$gte": ObjectId.from_datetime(last.generation_time - MINUTE)}}
    return {"$or": [after, {"_id": {"$type": others}}]} if others else after


def _is(value: object, kinds: tuple[type, ...]) -> bool:
    """bool is an int in Python."""
    return isinstance(value, kinds) and isinstance(value, bool) == (bool in kinds)
