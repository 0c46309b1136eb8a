"""What nodes bring of documents is what their parser could have said, or is kept by nobody."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import orjson
import pytest

from tests.support.chance import any_seed
from tests.support.spoiling import spoilt
from tools.cluster.abroad import StaysHere
from tools.cluster.cargo import result_of
from tools.cluster.messages import Hold, Result
from tools.cluster.roster import Roster
from tools.cluster.scope import Scope
from tools.cluster.wire import error_of, table_of_done, table_of_error
from tools.engine.stage import Done, Stage, Task
from tools.errors import ComeBack, GiveUp, HarvestError, Interrupted, RetryLater
from tools.jobs.structure_abroad import MOST_BYTES, DocumentCargo
from tools.jobs.structure_node import HELD_S, DocumentCarrier, OtherScript, ParseThere
from tools.structure.hosts import Hosts
from tools.structure.parse import Parse, ParsedDocument, UnparsedDocument
from tools.structure.queues import uri_of
from tools.structure.raw import Raw
from tools.structure.registry import Parsers, Rule

pytestmark = pytest.mark.timeout(120)

FUZZED = 3000
KNOWN = {"finished", "failed", "parse", "export", "to_parse", "to_export"}
SCRIPT = """
class RawParser:
    def parse(self, raw):
        if raw == b"bad":
            raise ValueError("no good")
        if raw == b"large":
            return ["a" * 9_000_000]
        return {"text": raw.decode(), "number": 1.5}
"""


class Texts:
    """A source: places are texts."""

    def read(self, place: str) -> bytes:
        if place == "gone":
            raise GiveUp("it is gone")
        return place.encode()


class Scene:
    """A node with a parser, and who it tells."""

    def __init__(self, here: Path, there: Path, hosts: Hosts) -> None:
        for folder in (here, there):
            folder.mkdir(exist_ok=True)
            (folder / "own.py").write_text(SCRIPT)
        self.here, self.there = here, there
        rules = [Rule("*", "own.py", {}, None)]
        self.cargo = DocumentCargo("to_export", {"texts": Texts()}, Parsers(rules, here))
        self.carrier, parsers = DocumentCarrier(), Parsers(rules, there)
        parse = Parse("register", {}, parsers, hosts, "to_export")
        self.worker = self.carrier.wrapped(ParseThere(parse, parsers, self.carrier))

    def parsed(self, task: Task) -> Result:
        """As it travels."""
        self.carrier.arrived(task.uri, orjson.loads(orjson.dumps(self.cargo.outgoing(task))), False)
        result: Done | HarvestError
        try:
            result = self.worker(task)
        except HarvestError as trouble:
            result = trouble
        cargo = orjson.loads(orjson.dumps(self.carrier.leaving(task.uri, result)))
        done = table_of_done(result) if isinstance(result, Done) else None
        error = None if isinstance(result, Done) else table_of_error(result)
        return Result(7, "parse", task.uri, done, error, cargo, None)

    def brought(self, task: Task, message: Result) -> Done | Exception:
        return result_of(task, message, self.cargo, KNOWN)


@pytest.fixture(scope="module")
def hosts() -> Iterator[Hosts]:
    hosts = Hosts()
    yield hosts
    hosts.close()


@pytest.fixture
def scene(tmp_path: Path, hosts: Hosts) -> Scene:
    return Scene(tmp_path / "here", tmp_path / "there", hosts)


def document(text: str, length: int | None = None, of: str = "texts", place: str = "") -> Task:
    content = text.encode()
    uri = uri_of("register", hashlib.sha256(content).hexdigest())
    task = Task(1, uri, Stage("parse", 1), None, 0, 0, token=7, priority=1)
    size = len(content) if length is None else length
    task.note = Raw(f"raw/{text[:20]}.txt", of, place or text, None, size, "own.py").as_note()
    return task


def test_json_arrives_as_the_parser_made_it(scene: Scene) -> None:
    task = document("tea")
    result = scene.brought(task, scene.parsed(task))
    assert isinstance(result, Done) and result.to == "to_export"
    found = result.records
    assert isinstance(found, ParsedDocument)
    assert found.json == b'{"text":"tea","number":1.5}'
    assert (found.hash, found.source, found.bytes) == (task.uri[9:], "raw/tea.txt", 3)
    assert result.tally.keys() == {"parsed own.py", "parse ms own.py", "structure:high"}


def test_what_a_parser_could_not_read_is_told_with_its_reason(scene: Scene) -> None:
    task = document("bad")
    result = scene.brought(task, scene.parsed(task))
    assert isinstance(result, Done) and result.to == "failed"
    assert isinstance(result.records, UnparsedDocument)
    assert "no good" in (result.reason or "")


@pytest.mark.parametrize(
    "task",
    [
        document("", 0),
        document("x", MOST_BYTES + 1),
        document("x", of="nobody"),
        document("x", place="gone"),
        document("x", place="another"),
        Task(1, "register abc", Stage("parse", 1), None, 0, 0),
    ],
)
def test_what_is_no_good_for_a_node_stays(scene: Scene, task: Task) -> None:
    with pytest.raises(StaysHere):
        scene.cargo.outgoing(task)


def test_an_answer_that_is_too_large_is_made_by_the_coordinator(scene: Scene) -> None:
    task = document("large")
    assert isinstance(scene.brought(task, scene.parsed(task)), ComeBack)
    with pytest.raises(StaysHere):
        scene.cargo.outgoing(task)


def test_bytes_that_changed_on_their_way_are_not_parsed(scene: Scene) -> None:
    task = document("tea")
    cargo = scene.cargo.outgoing(task)
    with pytest.raises(RetryLater):
        scene.carrier.arrived(task.uri, {**cargo, "raw": "AAAA"}, False)


def test_who_has_another_script_by_now_is_held_and_the_task_goes_to_others(scene: Scene) -> None:
    (scene.here / "own.py").write_text(SCRIPT + "# edited\n")
    task = document("tea")
    message = scene.parsed(task)
    assert message.error is not None
    error = error_of(message.error)
    meant, hold = Scope(Roster()).judged("alpha", task, error)
    assert isinstance(meant, Interrupted)
    assert isinstance(hold, Hold) and hold.seconds == HELD_S and "copy the file" in hold.reason
    (scene.there / "own.py").write_text(SCRIPT + "# edited\n")
    assert isinstance(scene.brought(task, scene.parsed(task)), Done)
    assert issubclass(OtherScript, HarvestError)


def test_an_edit_while_it_is_under_way_spoils_nothing(scene: Scene) -> None:
    task = document("tea")
    message = scene.parsed(task)
    (scene.here / "own.py").write_text(SCRIPT + "# edited\n")
    assert isinstance(scene.brought(task, message), Done)


def test_of_another_life_only_what_the_script_of_now_made_counts(scene: Scene) -> None:
    task = document("tea")
    message = scene.parsed(task)
    assert isinstance(scene.brought(task, message), Done)  # and it is forgotten
    assert isinstance(scene.brought(task, message), Done)
    (scene.here / "own.py").write_text(SCRIPT + "# edited\n")
    assert isinstance(scene.brought(task, message), RetryLater)


@pytest.mark.parametrize("text", ["tea", "bad"])
def test_whatever_comes_is_refused_or_can_be_stored(scene: Scene, text: str) -> None:
    seed = any_seed()
    print(f"seed {seed}")
    random, refused = Random(seed), 0
    task = document(text)
    whole = scene.parsed(task)._asdict()
    for _ in range(FUZZED // 2):
        message = spoilt({"done": whole["done"], "cargo": whole["cargo"]}, random)
        done: Any = message.get("done")
        if not isinstance(done, dict):  # the wire itself refuses it
            continue
        told = Result(7, "parse", task.uri, done, None, message.get("cargo"), None)
        result = scene.brought(task, told)
        assert isinstance(result, RetryLater | Done), result
        refused += isinstance(result, RetryLater)
        if isinstance(result, Done) and isinstance(result.records, ParsedDocument):
            assert orjson.loads(result.records.json) is not None
    assert refused > FUZZED / 4
