"""The extend worker: who is asked, what is kept, and when a task comes back."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from threading import Event

import pytest

from tools.add import Adder, Attachment, Entity, Media
from tools.engine.stage import Stage, Task
from tools.errors import (
    BadStatus,
    ComeBack,
    GiveUp,
    HarvestError,
    Interrupted,
    RetryLater,
    ServerTrouble,
    Unavailable,
)
from tools.extend import DAY_S, EARLY, Extender, Wanted
from tools.graphs.sqlite import SqliteGraph
from tools.media.drafts import Drafts
from tools.media.ledger import Ledger
from tools.media.offer import Candidate
from tools.network.rests import Rests
from tools.providers.resting import PatientProvider

DOG = "/c/en/dog"
BARKS = "/a/[/r/CapableOf/,/c/en/dog/,/c/en/bark/]"
ATTEMPTS = 3


def candidate(name: str) -> Candidate:
    url = f"https://files.example.org/{name}"
    return Candidate(url, f"{url}.html", "cc0-1.0", None, "Ada", title=name)


class Shelf:
    """A provider that has these files, or an error instead of an answer."""

    def __init__(self, name: str, **files: Sequence[str]) -> None:
        self.name = name
        self.kinds = frozenset({"image", "audio", "visual"})
        self.is_for_relations = True
        self.is_link_only = False
        self.files = files
        self.trouble: HarvestError | None = None
        self.asked: list[tuple[str, str]] = []

    def search(self, text: str, kind: str) -> list[Candidate]:
        self.asked.append((text, kind))
        if self.trouble is not None:
            raise self.trouble
        return [candidate(each) for each in self.files.get(kind, ())]


class Hands:
    """Writes a small file for each candidate, unless it is told to stumble over it."""

    def __init__(self) -> None:
        self.stumbles: dict[str, HarvestError] = {}
        self.fetched: list[str] = []

    def keep(
        self, candidate: Candidate, kind: str, provider: str,
        root: Path, folder: str, number: int, kept: Sequence[Media],
    ) -> Media:  # fmt: skip
        name = str(candidate.title)
        self.fetched.append(name)
        if error := self.stumbles.get(name):
            raise error
        path = f"{folder}/{kind}/{number}.bin"
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(name)
        digest = hashlib.sha256(name.encode()).hexdigest()
        facts = ("x/y", digest, len(name), 1, 1, None)
        return Media(path, kind, *facts, "cc0-1.0", None, "Ada", "page", candidate.url, provider)


class Stage_:
    """An extender over shelves, and everything it needs."""

    def __init__(self, folder: Path, shelves: Sequence[Shelf], wanted: int, enough: int | None):
        self.hands = Hands()
        self.stop = Event()
        self.rests = Rests()
        self.media = folder / "m"
        self.drafts = Drafts(folder / "drafts", self.media)
        self.extender = Extender(
            [PatientProvider(each, 0.0, self.rests) for each in shelves],
            self.hands,
            self.drafts,
            self.media,
            Wanted(dict.fromkeys(("image", "audio", "visual"), wanted), enough),
            ATTEMPTS,
            self.stop,
        )

    def run(self, uri: str = DOG, attempts: int = 0, is_hurried: bool = False) -> Attachment:
        done = self.extender(Task(1, uri, Stage("extend", 1), None, 0, attempts, is_hurried))
        assert done.to == "finished"
        assert isinstance(done.records, Attachment)
        return done.records

    def files(self) -> list[str]:
        return sorted(p.relative_to(self.media).as_posix() for p in self.media.rglob("*.*"))


Make = Callable[..., Stage_]


@pytest.fixture
def make(tmp_path: Path) -> Make:
    def new(*shelves: Shelf, wanted: int = 2, enough: int | None = None) -> Stage_:
        return Stage_(tmp_path, shelves, wanted, enough)

    return new


def names(found: Attachment) -> list[str]:
    return [str(each.source).rpartition("/")[2] for each in found.media]


def reasons(found: Attachment) -> list[str]:
    refused = found.search["refused"]
    assert isinstance(refused, list)
    return [each["reason"] for each in refused]


def test_providers_are_asked_in_order_until_there_are_enough(make: Make) -> None:
    first = Shelf("first", image=["a", "b", "c"], audio=["x"])
    second = Shelf("second", image=["d"], audio=["y", "z"])
    stage = make(first, second)
    found = stage.run()
    assert names(found) == ["x", "y", "a", "b"]
    assert [kind for _, kind in second.asked] == ["audio", "visual"]
    assert stage.files() == [f"en/dog/{place}.bin" for place in ("audio/0", "audio/1", "image/0",
                                                                 "image/1")]  # fmt: skip
    assert found.search["kept"] == {"audio": 2, "image": 2, "visual": 0}


def test_a_concept_is_searched_by_its_label_and_a_relation_by_its_sentence(make: Make) -> None:
    shelf, concepts_only = Shelf("all"), Shelf("taxa", image=["a"])
    concepts_only.is_for_relations = False
    stage = make(shelf, concepts_only, wanted=1)
    assert names(stage.run("/c/en/guide_dog/n")) == ["a"]
    assert stage.run(BARKS).media == ()
    assert {text for text, _ in shelf.asked} == {"guide dog", "dog can bark"}
    assert {text for text, _ in concepts_only.asked} == {"guide dog"}


def test_what_nobody_has_is_finished_without_and_said_so(make: Make) -> None:
    found = make(Shelf("empty")).run()
    assert found.media == ()
    assert found.search["kept"] == {"audio": 0, "image": 0, "visual": 0}
    assert found.search["asked"] == ["empty/audio", "empty/image", "empty/visual"]


def test_a_bad_file_costs_only_itself_and_its_reason_is_kept(make: Make) -> None:
    stage = make(Shelf("one", image=["html", "good"]), wanted=1)
    stage.hands.stumbles["html"] = GiveUp("not an image")
    found = stage.run()
    assert names(found) == ["good"]
    assert [each.path for each in found.media] == ["en/dog/image/0.bin"]
    assert reasons(found) == ["not an image"]


@pytest.mark.parametrize(
    "trouble",
    [
        Unavailable("asks for a pause (HTTP 429)", 7.0),
        ServerTrouble("answered HTTP 502"),
        ServerTrouble("sent HTML that is not JSON"),
        BadStatus("HTTP 403", 403),
    ],
)
def test_nothing_finishes_empty_because_a_provider_is_away(
    make: Make, trouble: HarvestError
) -> None:
    well, ill = Shelf("well", audio=["x"]), Shelf("ill", image=["a"], audio=["y"], visual=["v"])
    stage = make(well, ill, wanted=1)
    ill.trouble = trouble
    with pytest.raises(ComeBack) as caught:
        stage.run()
    assert caught.value.delay > 0
    assert stage.hands.fetched == ["x"]
    ill.trouble = None
    stage.rests._patients.clear()  # as if time had passed
    found = stage.run()
    assert names(found) == ["x", "a", "v"]
    assert stage.hands.fetched == ["x", "a", "v"]
    assert well.asked.count(("dog", "audio")) == 1, "who has answered is not asked again"


def test_while_nobody_can_be_asked_the_stage_waits(make: Make) -> None:
    shelves = Shelf("one"), Shelf("other")
    stage = make(*shelves)
    for shelf in shelves:
        shelf.trouble = Unavailable("asks for a pause", 5.0)
    with pytest.raises(Unavailable) as caught:
        stage.run()
    assert 4.0 < (caught.value.delay or 0.0) <= 5.5
    asked = [len(shelf.asked) for shelf in shelves]
    with pytest.raises(Unavailable):
        stage.run("/c/en/cat")
    assert [len(shelf.asked) for shelf in shelves] == asked, "a provider that rests was asked"


def test_a_task_with_enough_files_does_not_wait(make: Make) -> None:
    well, ill = Shelf("well", audio=["x"], image=["a"], visual=["v"]), Shelf("ill")
    ill.trouble = Unavailable("the day's searches are used up", 3600.0)
    stage = make(well, ill, wanted=5, enough=1)
    assert names(stage.run()) == ["x", "a", "v"]
    well.files = {"audio": ["x"]}
    with pytest.raises(ComeBack):
        stage.run("/c/en/cat")


USED_UP = Unavailable("the day's searches are used up", 3600.0)


def waiting(make: Make, **well: Sequence[str]) -> tuple[Stage_, Shelf]:
    """A task that has some files and waits for more."""
    shelf, ill = Shelf("well", **well), Shelf("ill")
    ill.trouble = USED_UP
    stage = make(shelf, ill, wanted=2)
    with pytest.raises(ComeBack):
        stage.run()
    return stage, ill


def test_when_room_is_short_a_task_is_ended_with_what_it_has_and_nobody_is_asked(
    make: Make,
) -> None:
    stage, ill = waiting(make, image=["a"], audio=["x", "y"])
    ill.trouble = None
    ill.files, asked, fetched = {"image": ["b"]}, len(ill.asked), len(stage.hands.fetched)
    found = stage.run(is_hurried=True)
    assert names(found) == ["x", "y", "a"]
    assert (len(ill.asked), len(stage.hands.fetched)) == (asked, fetched)
    assert reasons(found) == [EARLY, EARLY]
    assert {each["kind"] for each in found.search["refused"]} == {"image", "visual"}  # type: ignore[attr-defined]


def test_offers_that_could_not_be_tried_are_refused_by_name_when_room_is_short(make: Make) -> None:
    stage = make(Shelf("one", image=["a", "b"]), wanted=2)
    stage.hands.stumbles["b"] = Unavailable("its host rests", 60.0)
    with pytest.raises(ComeBack):
        stage.run()
    found = stage.run(is_hurried=True)
    assert names(found) == ["a"]
    urls = [each["url"] for each in found.search["refused"]]  # type: ignore[attr-defined]
    assert candidate("b").url in urls
    last = found.search["refused"][-1]  # type: ignore[index]
    assert (last["page"], last["license"]) == (candidate("b").page, candidate("b").license)


def test_a_task_without_files_is_not_ended_early(make: Make) -> None:
    stage, _ = waiting(make)
    with pytest.raises(ComeBack):
        stage.run(is_hurried=True)


def test_nobody_waits_longer_than_some_days(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    stage, _ = waiting(make, image=["a"])
    now = time.time()
    monkeypatch.setattr(time, "time", lambda: now + 3 * DAY_S - 60)
    with pytest.raises(ComeBack):
        stage.run()
    monkeypatch.setattr(time, "time", lambda: now + 3 * DAY_S + 60)
    found = stage.run()
    assert names(found) == ["a"]
    assert set(reasons(found)) == {"ill is paused"}


def test_a_clock_set_back_lengthens_no_patience_by_the_jump(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    stage, _ = waiting(make, image=["a"])
    now = time.time() - 365 * DAY_S
    monkeypatch.setattr(time, "time", lambda: now)
    with pytest.raises(ComeBack):
        stage.run()
    monkeypatch.setattr(time, "time", lambda: now + 3 * DAY_S + 60)
    assert names(stage.run()) == ["a"]


def test_the_weight_of_unfinished_tasks_is_known_and_found_again(
    make: Make, tmp_path: Path
) -> None:
    stage, _ = waiting(make, image=["four"], audio=["seventeen"])
    assert stage.drafts.weight == len("four" + "seventeen")
    assert stage.extender.begun() == [DOG]
    again = Drafts(tmp_path / "drafts", stage.media)
    assert (again.weight, again.begun()) == (stage.drafts.weight, [DOG])
    stage.drafts.remove([stage.run(is_hurried=True).owner])
    assert (stage.drafts.weight, stage.extender.begun()) == (0, [])


def test_a_draft_of_before_patience_was_known_is_read(make: Make, tmp_path: Path) -> None:
    stage, _ = waiting(make, image=["a"])
    (path,) = (tmp_path / "drafts").rglob("*.json")
    table = json.loads(path.read_text())
    del table["since"]
    path.write_text(json.dumps(table))
    stage.drafts = Drafts(tmp_path / "drafts", stage.media)
    assert stage.drafts.open(DOG).media and stage.drafts.open(DOG).age_s == 0


def test_a_provider_that_fails_for_one_search_alone_costs_that_task_attempts(make: Make) -> None:
    shelf = Shelf("one", image=["a"])
    stage = make(shelf, wanted=1)
    stage.run("/c/en/cat")
    search = shelf.search

    def poisoned(text: str, kind: str) -> list[Candidate]:
        if text == "dog":
            raise ServerTrouble("answered HTTP 500")
        return search(text, kind)

    shelf.search = poisoned  # type: ignore[method-assign]
    with pytest.raises(RetryLater, match="HTTP 500"):
        stage.run()
    assert stage.run(attempts=ATTEMPTS - 1).media == ()


def test_a_file_whose_host_is_in_trouble_is_tried_again_and_refused_in_the_end(make: Make) -> None:
    stage = make(Shelf("one", image=["a", "b"]), wanted=2)
    stage.hands.stumbles["a"] = ServerTrouble("no complete answer in time")
    for attempts in range(ATTEMPTS - 1):
        with pytest.raises(RetryLater, match="in time"):
            stage.run(attempts=attempts)
    found = stage.run(attempts=ATTEMPTS - 1)
    assert names(found) == ["b"]
    assert reasons(found) == ["no complete answer in time"]
    assert stage.hands.fetched.count("a") == ATTEMPTS
    assert stage.hands.fetched.count("b") == 1


def test_stopping_between_two_files_that_failed_before_forgets_neither(make: Make) -> None:
    stage = make(Shelf("one", image=["a", "b"]))
    for name in ("a", "b"):
        stage.hands.stumbles[name] = ServerTrouble("no complete answer in time")
    with pytest.raises(RetryLater):
        stage.run()
    stage.stop.set()
    with pytest.raises(Interrupted):
        stage.run()
    stage.stop.clear()
    stage.hands.stumbles.clear()
    assert names(stage.run()) == ["a", "b"]


def test_a_dead_host_of_many_files_is_not_tried_for_each_of_them(make: Make) -> None:
    many = [str(number) for number in range(50)]
    first, second = Shelf("first", image=many), Shelf("second", image=["good"])
    stage = make(first, second)
    for name in many:
        stage.hands.stumbles[name] = ServerTrouble("no complete answer in time")
    with pytest.raises(RetryLater):
        stage.run()
    assert stage.hands.fetched == ["0", "1", "2", "3", "good"]
    stage.hands.stumbles = {name: GiveUp("gone") for name in many[:6]}
    assert names(stage.run()) == ["good", "6"]


def test_a_file_whose_host_asks_for_a_pause_is_fetched_after_it(make: Make) -> None:
    stage = make(Shelf("one", image=["a"]), wanted=1)
    stage.hands.stumbles["a"] = Unavailable("files.example.org rests", 9.0)
    with pytest.raises(ComeBack) as caught:
        stage.run()
    assert 9.0 <= caught.value.delay <= 9.9
    stage.hands.stumbles.clear()
    assert names(stage.run()) == ["a"]


def test_a_graph_that_is_away_costs_no_download_twice(make: Make, tmp_path: Path) -> None:
    stage = make(Shelf("one", image=["a", "b"], audio=["x"]))
    first = stage.run()
    fetched, asked = list(stage.hands.fetched), len(stage.extender._providers)
    second = stage.run()  # the store said Unavailable, so the monitor hands the task out again
    assert stage.hands.fetched == fetched
    assert second.media == first.media
    assert asked == 1


def test_a_killed_attempt_leaves_no_orphans_to_the_next(make: Make) -> None:
    stage = make(Shelf("one", image=["a"]), wanted=1)
    for orphan in ("image/0.jpg", "image/.0.part", "visual/3.gif"):
        path = stage.media / "en/dog" / orphan
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("half of an earlier attempt")
    sense = stage.media / "en/dog/n/image/0.jpg"
    sense.parent.mkdir(parents=True)
    sense.write_text("another concept's")
    stage.run()
    assert stage.files() == ["en/dog/image/0.bin", "en/dog/n/image/0.jpg"]


def test_a_file_that_is_gone_is_fetched_again(make: Make) -> None:
    stage = make(Shelf("one", image=["a"]), wanted=1)
    stage.run()
    (stage.media / "en/dog/image/0.bin").unlink()
    assert names(stage.run()) == ["a"]


def test_a_draft_that_cannot_be_read_is_none(make: Make, tmp_path: Path) -> None:
    stage = make(Shelf("one", image=["a"]), wanted=1)
    stage.hands.stumbles["a"] = ServerTrouble("later")
    with pytest.raises(RetryLater):
        stage.run()
    (saved,) = (tmp_path / "drafts").rglob("*.json")
    saved.write_text("{ half a draft")
    stage.hands.stumbles.clear()
    assert names(stage.run()) == ["a"]
    assert stage.files() == ["en/dog/image/0.bin"]


def test_stopping_keeps_what_was_gathered(make: Make) -> None:
    stage = make(Shelf("one", audio=["x", "y"], image=["a"]))
    keep = stage.hands.keep

    def keep_and_stop(*arguments: object) -> Media:
        stage.stop.set()
        return keep(*arguments)  # type: ignore[arg-type]

    stage.hands.keep = keep_and_stop  # type: ignore[assignment, method-assign]
    with pytest.raises(Interrupted):
        stage.run()
    stage.stop.clear()
    stage.hands.keep = keep  # type: ignore[method-assign]
    assert names(stage.run()) == ["x", "y", "a"]
    assert stage.hands.fetched == ["x", "y", "a"]


def test_of_a_link_only_provider_nothing_but_the_page_is_kept(make: Make) -> None:
    shelf = Shelf("links", visual=["v", "w", "z"])
    shelf.is_link_only = True
    stage = make(shelf, wanted=2)
    found = stage.run()
    assert found.media == () and stage.hands.fetched == []
    assert found.search["links"] == [
        {"provider": "links", "kind": "visual", "page": f"https://files.example.org/{name}.html"}
        for name in ("v", "w")
    ]


def test_what_two_providers_offer_under_one_address_is_fetched_once(make: Make) -> None:
    stage = make(Shelf("one", image=["a"]), Shelf("other", image=["a", "b"]))
    assert names(stage.run()) == ["a", "b"]
    assert stage.hands.fetched == ["a", "b"]


def test_graph_and_books_know_what_was_kept_and_drafts_are_gone(make: Make, tmp_path: Path) -> None:
    stage = make(Shelf("one", image=["a"], audio=["x"]), wanted=1)
    ledger = Ledger(stage.media)
    graph = SqliteGraph(tmp_path / "graph.db")
    graph.write([Entity.of(DOG)], [])

    def book(attachments: Sequence[Attachment]) -> None:
        ledger.add(attachments)
        stage.drafts.remove([each.owner for each in attachments])

    adder = Adder(graph, book)
    found = stage.run()
    adder([found])
    assert graph.media_of([DOG]) == {DOG: sorted(found.media, key=lambda each: -ord(each.kind[0]))}
    assert adder.media == {"image": 1, "audio": 1}
    assert not list((tmp_path / "drafts").rglob("*.json"))
    graph.close()


def test_a_sense_too_deep_for_the_file_system_has_a_draft_like_any_other(tmp_path: Path) -> None:
    owner = "/c/en/" + "/".join(["\N{DOG}" * 50] * 39)
    drafts = Drafts(tmp_path / "drafts", tmp_path / "m")
    drafts.save(drafts.open(owner))
    assert drafts.open(owner).owner == owner
