"""A collection is a source: ids of every kind, bodies of every kind, a server that goes away."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import orjson
import pytest
from bson import Binary, ObjectId
from pymongo.collection import Collection

from tests.structure.scene import Scene
from tests.support.mongodb_server import MongodbServer
from tests.support.ports import closed_port
from tools.errors import GiveUp, Unavailable, UsageError
from tools.structure.sources import mongodb as module
from tools.structure.sources.mongodb import PASSWORD_VARIABLE, MongoSource

MAX = 100_000


class Pages:
    def __init__(self, server: MongodbServer) -> None:
        self.server = server
        self.database = server.database()
        self.client = server.client()
        self.collection: Collection[dict[str, Any]] = self.client[self.database]["pages"]
        self.sources: list[MongoSource] = []

    def source(self, query: str = "body=html", max_bytes: int = MAX) -> MongoSource:
        uri = f"mongodb://127.0.0.1:{self.server.port}/{self.database}/pages?{query}"
        self.sources.append(MongoSource(uri, Path(), max_bytes))
        return self.sources[-1]

    def close(self) -> None:
        self.client.close()
        for each in self.sources:
            each.close()


@pytest.fixture
def pages(mongodb: MongodbServer) -> Iterator[Pages]:
    found = Pages(mongodb)
    yield found
    found.close()


def bodies(source: MongoSource, position: str = "") -> list[bytes | None]:
    return [item.raw for item, _ in source.items(position)]


def test_ids_of_several_kinds_are_all_reached_from_every_position(pages: Pages) -> None:
    ids: list[Any] = [3, 20, 2**40, 7.5, "a", "ä", {"x": 1}, ObjectId(), True, datetime(2020, 1, 1)]
    pages.collection.insert_many([{"_id": each, "html": str(each)} for each in ids])
    source = pages.source()
    found = list(source.items(""))
    assert {item.raw for item, _ in found} == {str(each).encode() for each in ids}
    for number, (item, position) in enumerate(found):
        rest = [other.raw for other, _ in source.items(position)]
        repeated = [item.raw] if "oid" in item.place else []  # those of a minute
        assert rest == repeated + [other.raw for other, _ in found[number + 1 :]]
        assert source.read(item.place) == item.raw


def test_an_id_that_comes_in_before_one_that_was_read_is_found(pages: Pages) -> None:
    """Two machines write at once; of the same second, either may have the smaller id."""
    now = datetime.now(UTC)
    first, late = ObjectId.from_datetime(now), ObjectId.from_datetime(now - timedelta(seconds=5))
    pages.collection.insert_one({"_id": first, "html": "first"})
    [(_, position)] = pages.source().items("")
    pages.collection.insert_one({"_id": late, "html": "late"})
    assert b"late" in bodies(pages.source(), position)


def test_bodies_are_bytes_texts_or_json(pages: Pages) -> None:
    kinds: list[Any] = [b"\xff\x00", "茶", {"a": [1, None], "b": ObjectId("0" * 24)}, [1], None]
    kinds += [Binary(b"x", 0), 5]
    pages.collection.insert_many([{"_id": n, "html": each} for n, each in enumerate(kinds)])
    pages.collection.insert_one({"_id": 99})
    found = bodies(pages.source())
    assert found[:2] == [b"\xff\x00", "茶".encode()]
    assert orjson.loads(found[2] or b"") == {"a": [1, None], "b": "0" * 24}
    assert found[3:] == [b"[1]", b"", b"x", b"5", b""]


def test_fields_may_be_inside_of_others_and_name_the_document(pages: Pages) -> None:
    page = {"_id": 1, "page": {"html": "x"}, "url": "http://h/1", "mime": "text/html", "p": 2}
    pages.collection.insert_one(page)
    source = pages.source("body=page.html&key=url&type=mime&priority=p")
    [(item, _)] = source.items("")
    assert item == ("http://h/1", "", item.place, "text/html", 2, b"x")
    [(item, _)] = pages.source("body=page.html").items("")
    assert item.source == "pages/1"


def test_only_those_of_a_status_and_each_round_all_of_them(pages: Pages) -> None:
    """One that is downloaded later has an earlier id."""
    rows = [{"_id": n, "html": str(n), "status": 5 if n % 2 else 1} for n in range(4)]
    pages.collection.insert_many([*rows, {"_id": 9, "html": "9", "status": "5"}])
    source = pages.source("body=html&status=5")
    assert (source.is_whole, bodies(source)) == (True, [b"1", b"3", b"9"])
    pages.collection.update_one({"_id": 0}, {"$set": {"status": 5}})
    assert bodies(source) == [b"0", b"1", b"3", b"9"]


def test_with_a_version_only_changed_ones_are_read(pages: Pages, tmp_path: Path) -> None:
    moment = datetime(2026, 1, 1, tzinfo=UTC)
    rows = [{"_id": n, "html": str(n), "at": moment} for n in range(3)]
    pages.collection.insert_many(rows)
    scene = Scene(tmp_path / "state", pages.source("body=html&version=at"))
    scene.round()
    change = {"html": "new", "at": moment + timedelta(days=1)}
    pages.collection.update_one({"_id": 1}, {"$set": change})
    pages.collection.update_one({"_id": 2}, {"$set": {"html": "not told"}})
    scene.round()
    assert scene.pools.tallied("found") == 4
    [source] = scene.sources.values()
    assert [item.raw for item, _ in source.items("")] == [None] * 3


def test_what_is_too_large_or_gone_is_told_when_it_is_read(pages: Pages) -> None:
    pages.collection.insert_one({"_id": 1, "html": "x" * 200})
    source = pages.source(max_bytes=100)
    [(item, _)] = source.items("")
    assert item.raw is None
    with pytest.raises(GiveUp, match="larger than 100 bytes"):
        source.read(item.place)
    pages.collection.delete_one({"_id": 1})
    with pytest.raises(GiveUp, match="any more"):
        source.read(item.place)


def test_a_server_that_stops_is_gone_on_with(
    pages: Pages, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "CONNECT_MS", 500)
    monkeypatch.setattr(module, "BATCH", 10)
    pages.collection.insert_many([{"_id": n, "html": f"page {n}"} for n in range(95)])
    scene = Scene(tmp_path / "state", pages.source(), stretch=20)
    scene.stretch()
    scene.stretch()
    pages.server.stop()
    with pytest.raises(Unavailable, match="does not answer"):
        while True:
            scene.stretch()  # what it had in hand comes first
    brought = len(scene.uris())
    assert 40 <= brought < 95
    with pytest.raises(Unavailable):
        scene.stretch()
    pages.server.start()
    scene.round()
    assert len(scene.uris()) == 95
    tally = scene.pools.tally()
    assert (tally["found"], tally.get("copies", 0)) == (95, 0)


def test_a_question_the_server_forgot_is_asked_again(
    pages: Pages, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "BATCH", 5)
    pages.collection.insert_many([{"_id": n, "html": str(n)} for n in range(20)])
    items = pages.source().items("")
    first = [next(items)[0].raw for _ in range(3)]
    pages.server.stop()
    pages.server.start()  # it knows no cursor any more
    assert first + [item.raw for item, _ in items] == [b"%d" % n for n in range(20)]


@pytest.mark.parametrize(
    ("uri", "sentence"),
    [
        ("mongodb://h/db?body=x", "must be like"),
        ("mongodb://h/db/c/d?body=x", "must be like"),
        ("mongodb:///db/c?body=x", "must be like"),
        ("mongodb://h/db/c", "say which one is the body"),
        ("mongodb://h/db/c?boddy=x", "did you mean 'body'"),
        ("mongodb://me:hush@h/db/c?body=x", "must not stand in the address"),
        ("mongodb://h:port/db/c?body=x", "cannot be used"),
    ],
)
def test_wrong_addresses_are_told_without_their_secrets(uri: str, sentence: str) -> None:
    with pytest.raises(UsageError, match=sentence) as told:
        MongoSource(uri, Path(), MAX)
    assert "hush" not in str(told.value)


def test_a_password_comes_from_elsewhere_and_is_never_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "CONNECT_MS", 300)
    monkeypatch.delenv(PASSWORD_VARIABLE, raising=False)
    secret = tmp_path / "secret"
    secret.write_text("hush")
    uri = f"mongodb://me@127.0.0.1:{closed_port()}/db/c?body=x&password_file=secret"
    with pytest.raises(UsageError, match="others can read it"):
        secret.chmod(0o644)
        MongoSource(uri, tmp_path, MAX)
    secret.chmod(0o600)
    with closing(MongoSource(uri, tmp_path, MAX)) as source:
        credentials = source._client.options.pool_options._credentials
        assert credentials is not None
        assert credentials.password == "hush"
        with pytest.raises(Unavailable) as told:
            list(source.items(""))
    assert "hush" not in str(told.value)
    assert "hush" not in source.uri
