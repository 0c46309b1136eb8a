"""`mongodb://host/database/collection?body=FIELD`: documents of a collection, by their `_id`.

Promise: a server that is away spends nobody's attempt, and is read on from where it was; each wait
has a deadline; no message holds a password. With `status=5` each round looks at all that have it: a
document gets it long after its `_id`. `version=FIELD` says what changes with a document; then only
changed ones are read. Limit: without `status` or `version`, only those behind the last `_id`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import orjson
from bson.codec_options import CodecOptions, DatetimeConversion
from bson.errors import BSONError
from pymongo import MongoClient
from pymongo.errors import (
    ConfigurationError,
    ConnectionFailure,
    CursorNotFound,
    OperationFailure,
    PyMongoError,
)

from ...base.credentials import hidden, one_secret
from ...base.text import one_line, plain
from ...errors import GiveUp, Unavailable, UsageError
from .mongodb_place import behind, id_of, place_of
from .query import options_of, priority_of
from .source import Item, too_large

PASSWORD_VARIABLE = "SHEAF_MONGODB_PASSWORD"  # noqa: S105
FORM = "mongodb://user@host/database/collection?body=FIELD"
FIELDS = ("body", "key", "type", "priority", "version")
OF_CONNECTION = ("authSource", "replicaSet", "tls", "tlsCAFile")
OPTIONS = (*FIELDS, "status", "password_file", *OF_CONNECTION)
ANSWER_MS, CONNECT_MS = 60_000, 10_000
BATCH = 100
REFUSED = (13, 18)  # codes for who may not, and who is not known
ANY_BYTES: CodecOptions[dict[str, Any]] = CodecOptions(
    unicode_decode_error_handler="surrogateescape",
    datetime_conversion=DatetimeConversion.DATETIME_AUTO,
)


class MongoSource:
    def __init__(self, uri: str, folder: Path, max_bytes: int) -> None:
        parts = urlsplit(uri)
        path = [unquote(each) for each in parts.path.strip("/").split("/")]
        if len(path) != 2 or not all(path) or not parts.netloc.rpartition("@")[2]:
            raise UsageError(f"{hidden(uri)} must be like {FORM}")
        if ":" in parts.netloc.rpartition("@")[0]:
            raise UsageError(
                f"the password of {hidden(uri)} must not stand in the address: give it in "
                f"{PASSWORD_VARIABLE}, or as password_file=PATH of a file that only you can read"
            )
        options = options_of(uri, parts.query, OPTIONS)
        self.uri = uri
        self._shown = hidden(uri)
        self._max_bytes = max_bytes
        self._fields = {use: options[use] for use in FIELDS if use in options}
        self._status = options.get("status")
        self._client = _client(parts.netloc, options, folder)
        self._name = path[1]
        self._collection = self._client[path[0]].get_collection(path[1], codec_options=ANY_BYTES)

    @property
    def is_whole(self) -> bool:
        return self._status is not None or "version" in self._fields

    def items(self, position: str) -> Iterator[tuple[Item, str]]:
        while True:
            try:
                for found in self._found(position):
                    position = place_of(found["_id"])
                    yield self._item(found, position), position
                return
            except CursorNotFound:
                continue  # the server forgets a question that nobody goes on with for minutes

    def _found(self, position: str) -> Iterator[dict[str, Any]]:
        conditions = [behind(position)] if position else []
        if self._status is not None:
            conditions.append({"status": {"$in": [self._status, priority_of(self._status)]}})
        wanted = [name for use, name in self._fields.items() if use != "body" or self._reads_all]
        with self._explained():
            yield from self._collection.find(
                {"$and": conditions} if conditions else {}, ["_id", *wanted], batch_size=BATCH
            ).sort("_id", 1)

    @property
    def _reads_all(self) -> bool:
        return "version" not in self._fields

    def _item(self, found: Mapping[str, Any], place: str) -> Item:
        of = {use: _field(found, name) for use, name in self._fields.items()}
        key, version = of.get("key"), of.get("version")
        raw = _bytes(of["body"]) if self._reads_all else None
        return Item(
            _text(key) or f"{self._name}/{_text(found['_id']) or place}",
            "" if version is None else place_of(version),
            place,
            _text(of.get("type")) or None,
            priority_of(of.get("priority")),
            raw if raw is None or len(raw) <= self._max_bytes else None,
        )

    def read(self, place: str) -> bytes:
        with self._explained():
            body = self._fields["body"]
            found = self._collection.find_one({"_id": id_of(place)}, ["_id", body])
        if found is None:
            raise GiveUp(f"{self._name} has no document {plain(place)} any more")
        raw = _bytes(_field(found, body))
        if len(raw) > self._max_bytes:
            raise too_large(f"{self._name}/{plain(place)}", self._max_bytes)
        return raw

    def close(self) -> None:
        self._client.close()

    @contextmanager
    def _explained(self) -> Iterator[None]:
        """What the driver raises, as what to do next."""
        try:
            yield
        except CursorNotFound:
            raise
        except ConnectionFailure as error:
            raise Unavailable(f"{self._shown} does not answer: {_said(error)}") from error
        except OperationFailure as error:
            if error.code in REFUSED:
                raise UsageError(
                    f"{self._shown} refuses the login: check the user and {PASSWORD_VARIABLE}"
                ) from error
            raise GiveUp(f"{self._shown} refuses: {_said(error)}") from error
        except (PyMongoError, BSONError) as error:
            raise GiveUp(f"{self._shown} cannot be read: {_said(error)}") from error


def _client(netloc: str, options: Mapping[str, str], folder: Path) -> MongoClient[dict[str, Any]]:
    login, _, hosts = netloc.rpartition("@")
    file = options.get("password_file")
    named = {name: options[name] for name in OF_CONNECTION if name in options}
    if login:
        password = one_secret(PASSWORD_VARIABLE, folder / file if file else None)
        named |= {"username": unquote(login), "password": password}
    try:
        return MongoClient(
            f"mongodb://{hosts}",
            serverSelectionTimeoutMS=CONNECT_MS,
            connectTimeoutMS=CONNECT_MS,
            socketTimeoutMS=ANSWER_MS,
            appname="sheaf",
            **named,  # type: ignore[arg-type]  # by their names in an address
        )
    except (ConfigurationError, ValueError, TypeError) as error:
        raise UsageError(f"mongodb://{hosts} cannot be used: {_said(error)}") from error


def _said(error: Exception) -> str:
    return one_line(hidden(str(error).partition(", full error")[0]))[:200]


def _field(found: Mapping[str, Any], path: str) -> object:
    """`page.html` is the field html of page."""
    value: object = found
    for name in path.split("."):
        value = value.get(name) if isinstance(value, Mapping) else None
    return value


def _text(value: object) -> str:
    return "" if value is None else plain(str(value).encode(errors="replace").decode())


def _bytes(value: object) -> bytes:
    """Texts as they are; what has fields as JSON."""
    if value is None:
        return b""
    if isinstance(value, bytes):
        return bytes(value)
    if isinstance(value, str):
        return value.encode("utf-8", "surrogateescape")
    return orjson.dumps(value, default=str)
