"""What nodes bring of a crawl's pages is what a download could have given, or is kept by nobody."""

from __future__ import annotations

import copy
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from random import Random
from threading import Event
from typing import Any

import orjson
import pytest

from tests.support.chance import any_seed
from tests.support.spoiling import spoilt
from tests.support.worlds.faults import answer
from tests.support.worlds.hostile_site import HostileSite, markup, page, redirect
from tools.archive.origin import Origin
from tools.archive.record import Exchange, pack, payload_digest
from tools.archive.store import Archive
from tools.archive.travelling import packed_said
from tools.cluster.cargo import result_of
from tools.cluster.hosts import HostReports, NodeHosts
from tools.cluster.messages import Result
from tools.cluster.post import Post
from tools.cluster.travel import TravelCarrier
from tools.cluster.wire import table_of_done
from tools.documents.address import DEFAULT, identity, lane_of
from tools.documents.traps import HostTraps
from tools.engine.stage import Done, Stage, Task
from tools.errors import ComeBack, HarvestError, Interrupted, RetryLater, Unavailable
from tools.jobs.pages_abroad import DownloadCargo
from tools.jobs.pages_asking import crawling_client
from tools.jobs.pages_checked import Checks
from tools.jobs.pages_node import Luggage, worker_of
from tools.jobs.pages_questions import AskedRules, AskedTable, Questions
from tools.jobs.pages_wishes import Wishes
from tools.network.hosts import Hosts
from tools.network.robots import Rules
from tools.pages.analyse import Body
from tools.pages.brought import Brought
from tools.pages.found import MARK
from tools.pages.notes import note_of, note_of_requisite
from tools.pages.open_table import open_table
from tools.pages.page import Analysed, Child, Fetched, HostNews, Link, Unchanged
from tools.pages.robots_rules import AGAIN_S, KEPT_S
from tools.pages.store import Store
from tools.pages.table import PageTable
from tools.pages.travelling import record_said, record_told
from tools.settings import Settings

pytestmark = pytest.mark.timeout(120)

FUZZED = 4000
KNOWN = {"finished", "failed", "download", "to_download", "to_analyse", "to_control", "control"}
STAGE = Stage("download", 1, lane=lane_of)
ROBOTS = "User-agent: *\nDisallow: /private\nSitemap: /map.xml\n"
PAGES = {
    "/robots.txt": answer(200, ROBOTS.encode()),
    "/": page("/a", text="some words", title="Home"),
    "/sent": redirect("/"),
    "/gone": answer(410, b"no more"),
    "/secret": answer(
        200, markup("/a", text="read now").encode(), "text/html", X_Robots_Tag="noarchive"
    ),
    "/same": page("/a", text="some words", title="Home"),
    "/a.png": answer(200, b"\x89PNG", "image/png"),
    "/s.css": redirect("/t.css"),
}


class Direct(Post):
    """Asks whoever answers, without a wire; what is said is what JSON can say."""

    def __init__(self, questions: Questions) -> None:
        self._all = questions.all()
        self.asked: list[str] = []
        self.is_there = True

    def look_up(self, what: str, *arguments: Any, seconds: float = 0.0) -> Any:
        self.asked.append(what)
        if not self.is_there:
            raise Unavailable("the coordinator does not answer")
        return orjson.loads(orjson.dumps(self._all[what](*arguments)))


class World:
    """A crawl of one site: a node's worker on one side, its coordinator's cargo on the other."""

    def __init__(self, folder: Path, site: HostileSite, table: PageTable, opened: ExitStack):
        pages = replace(Settings().pages, requisites=True, refetch_after="1h")
        settings = replace(Settings(), pages=pages)
        self.site, self.table = site, table
        self.questions, self.traps, stop = Questions(table), HostTraps(), Event()
        self.post = Direct(self.questions)
        self._hosts = Hosts(0.0, 0.0, 1, 60.0, asks_first=True)
        checks = Checks(Wishes.of(settings, DEFAULT), table)
        reports = HostReports(self._hosts)
        self.cargo = DownloadCargo(checks, reports, self.questions, self.traps)
        there = NodeHosts(stop)
        client = opened.enter_context(closing(crawling_client(settings, [site.lane()], stop)))
        self._carrier = TravelCarrier(Luggage(False).packed, there)
        asked = AskedTable(self.post, stop)
        self._work = self._carrier.wrapped(worker_of(settings, client, there, asked, []))
        archive = Archive(folder / "archive", Origin("crawl", "", "obey"))
        opened.callback(archive.close)
        archive.claim(known=0)
        table.claim("crawl")
        self.store = Store(archive, table)

    def task(self, target: str, requisite: bool = False, depth: int = 0) -> Task:
        address = self.site.at(target)
        uri = identity(address) + (MARK if requisite else "")
        note = note_of_requisite(address, 0) if requisite else note_of(address)
        task = Task(1, uri, STAGE, None, depth, 0, token=7, lane=lane_of(uri))
        task.note = note
        return task

    def message(self, task: Task) -> Result:
        """What a node sends of it."""
        self.cargo.outgoing(task)
        done = self._work(task)
        cargo = self._carrier.leaving(task.uri, done)
        said = orjson.loads(orjson.dumps([table_of_done(done), cargo]))
        return Result(7, "download", task.uri, said[0], None, said[1], None)

    def taken(self, task: Task, message: Result) -> Done | Exception:
        return result_of(task, message, self.cargo, KNOWN)

    def stored(self, task: Task) -> Done:
        done = self.taken(task, self.message(task))
        assert isinstance(done, Done), done
        if isinstance(done.records, Brought):
            self.store([done.records])
        return done


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    with HostileSite() as site, ExitStack() as opened:
        site.put_all(PAGES)
        table = opened.enter_context(closing(open_table("sqlite:pages.db", tmp_path, None, 8)))
        yield World(tmp_path, site, table, opened)


def brought(done: Done) -> Brought:
    assert isinstance(done.records, Brought)
    return done.records


def test_records_come_as_they_went() -> None:
    link = Link("h.example/a", "https://h.example/a", "a", True)
    for record in (
        Fetched(
            url="h.example/",
            fetched_at="2026-05-04T03:02:01.000Z",
            address="https://h.example/",
            status=302,
            bytes=7,
            digest="sha1:3I42H3S6NNFQ2MSVX7XZKYAYSCX5QBYJ",
            redirect="https://h.example/a",
            final=True,
            links=[link],
        ),
        Unchanged(url="h.example/", fetched_at="2026-05-04T03:02:01.000Z"),
        Analysed(url="h.example/", links=[link], words={"é\0": 3}, title="x", charset="utf-8"),
        HostNews(name="h.example", scheme="https", pages=1, bytes=5, seconds=0.25),
    ):
        assert record_told(orjson.loads(orjson.dumps(record_said(record)))) == record
    with pytest.raises(TypeError):
        record_said(Analysed(url="h.example/", extra={"of": "the user"}))


def test_a_robots_txt_is_known_before_its_host_is_asked_again(world: World) -> None:
    """By whoever asks, though it is not stored yet; and until then one page is handed out."""
    task = world.task("/")
    world._hosts.begun(task.lane or "")
    assert world._hosts.places(task.lane or "") == 1
    assert world.questions.robots(task.lane) == {"robots": None}
    done = world.taken(task, world.message(task))
    assert isinstance(done, Done) and done.to == "to_download"
    assert world.questions.robots(task.lane)["robots"][1] == ROBOTS
    assert world.table.host(task.lane or "") is None and len(done.found) == 1
    assert world._hosts.places(task.lane or "") == 1, "one at a time, but known"
    rows = brought(done).records[-1].children  # type: ignore[union-attr]
    assert [each.address for each in rows] == [world.site.at("/map.xml")]


def test_pages_come_as_a_download_here_would_bring_them(world: World) -> None:
    world.stored(world.task("/"))
    task = world.task("/")
    world.table.admit([Child(task.uri, world.site.at("/"))])
    done = world.stored(task)
    assert isinstance(done.luggage, Body) and done.luggage.content in PAGES["/"]
    same = brought(world.stored(world.task("/same"))).answers[0]
    assert same.packed.kind == "revisit" and same.domain == "127.0.0.1"
    sent = world.stored(world.task("/sent"))
    assert [each.kind for each in sent.luggage] == ["redirect"]  # type: ignore[attr-defined]
    gone = world.stored(world.task("/gone"))
    assert gone.to == "failed" and gone.reason == "HTTP 410"
    secret = brought(world.stored(world.task("/secret")))
    assert not secret.answers and isinstance(secret.records[1], Analysed)
    further = world.stored(world.task("/s.css", requisite=True))
    assert [each.uris for each in further.found] == [[world.site.lane() + "/t.css" + MARK]]
    assert world.table.digest_known(same.packed.digest) is not None


def test_one_page_again_and_again_is_noticed_over_all_nodes(world: World) -> None:
    world.stored(world.task("/"))
    message = world.message(world.task("/"))
    for _ in range(50):
        assert isinstance(world.taken(world.task("/"), message), Done)
    assert world.traps.same_again("127.0.0.1") is not None


def samples(world: World) -> dict[str, tuple[Task, Result]]:
    """Of every kind that a download can give."""
    found = {"robots": (task := world.task("/"), world.message(task))}
    world.stored(world.task("/"))
    world.table.admit([Child(world.task("/").uri, world.site.at("/"))])
    named = {"page": "/", "sent": "/sent", "gone": "/gone", "secret": "/secret"}
    for name, target in named.items():
        found[name] = (task := world.task(target), world.message(task))
    for name, target in {"requisite": "/a.png", "further": "/s.css"}.items():
        found[name] = (task := world.task(target, requisite=True), world.message(task))
    world.stored(world.task("/"))
    found["same"] = (task := world.task("/same"), world.message(task))
    return found


def essence(done: Done) -> list[Any]:
    """All but what nobody can know better: how long it took, what the host calls it."""
    tally = {name: number for name, number in done.tally.items() if name != "page bytes"}
    if done.records is None:
        return [done.to, done.found, tally]
    about = []
    for each in brought(done).records:
        links = [link[:2] for link in getattr(each, "links", ())]
        words, names = getattr(each, "words", None), ("url", "name", "robots", "digest", "redirect")
        about.append([type(each), links, words, *(getattr(each, name, None) for name in names)])
    return [done.to, done.found, tally, done.reason, about, brought(done).answers]


def test_what_is_spoilt_is_kept_by_nobody(world: World) -> None:
    seed = any_seed()
    print(f"seed {seed}")
    random, refused, all_of = Random(seed), 0, list(samples(world).values())
    truth = [essence(done) for each in all_of if isinstance(done := world.taken(*each), Done)]
    assert len(truth) == len(all_of)
    for number in range(FUZZED):
        task, message = all_of[number % len(all_of)]
        said = spoilt({"done": message.done, "cargo": message.cargo}, random)
        if not isinstance(said.get("done"), dict):  # the wire itself refuses it
            continue
        found = world.taken(task, message._replace(done=said["done"], cargo=said.get("cargo")))
        assert isinstance(found, Done | HarvestError), repr(found)
        refused += not isinstance(found, Done)
        if isinstance(found, Done) and not is_unkept(task, found):
            assert essence(found) == truth[number % len(all_of)], said
    assert refused > FUZZED / 2


def is_unkept(task: Task, done: Done) -> bool:
    """That its host wants it to be kept by nobody, only who asked can know."""
    return task.uri.endswith(MARK) and not (done.records and brought(done).answers)


def first(message: Any) -> Any:
    return message["cargo"]["records"]["records"][0][1]


def lie(name: str) -> Callable[[Callable[[Any, Any], None]], None]:
    def noted(change: Callable[[Any, Any], None]) -> None:
        LIES.append((name, change))

    return noted


LIES: list[tuple[str, Callable[[Any, Any], None]]] = []


@lie("page")
def of_another_page(said: Any, other: Any) -> None:
    said["cargo"]["records"]["answers"] = other["sent"]["cargo"]["records"]["answers"]


@lie("page")
def of_another_address(said: Any, other: Any) -> None:
    (told,) = said["cargo"]["records"]["answers"]
    moment, address = datetime.fromisoformat(told["time"]), "http://other.example/"
    whole = pack(Exchange(address, moment, 200, [("Content-Type", "text/html")], b"its bytes"))
    told["packed"], told["address"] = packed_said(whole), address
    first(said)["digest"] = whole.digest


@lie("page")
def bytes_without_their_digest(said: Any, other: Any) -> None:
    """The record says one, and has others."""
    (told,) = said["cargo"]["records"]["answers"]
    moment = datetime.fromisoformat(told["time"])
    wrong = Exchange(told["address"], moment, 200, [("Content-Type", "text/html")], b"other bytes")
    told["packed"] = packed_said(pack(wrong, digest=told["packed"]["digest"]))


@lie("page")
def with_another_digest(said: Any, other: Any) -> None:
    digest = payload_digest(b"other")
    first(said)["digest"] = said["cargo"]["records"]["answers"][0]["packed"]["digest"] = digest


@lie("page")
def at_a_place_in_the_archive(said: Any, other: Any) -> None:
    first(said)["captures"] = [["a", "t", 200, None, None, "/etc/passwd", 0, 1, "response"]]


@lie("page")
def without_an_answer(said: Any, other: Any) -> None:
    said["cargo"]["records"]["answers"], first(said)["digest"] = [], None


@lie("page")
def of_tomorrow(said: Any, other: Any) -> None:
    first(said)["fetched_at"] = "2999-01-01T00:00:00.000Z"


@lie("page")
def of_another_host(said: Any, other: Any) -> None:
    said["cargo"]["records"]["records"][-1][1]["name"] = "other.example"


@lie("page")
def with_rules_for_its_host(said: Any, other: Any) -> None:
    said["cargo"]["records"]["records"][-1][1] |= {"robots": "", "robots_at": 1.0}


@lie("page")
def that_finds_pages(said: Any, other: Any) -> None:
    said["done"]["found"] = other["robots"]["done"]["found"]


@lie("page")
def that_is_done_already(said: Any, other: Any) -> None:
    said["done"]["to"] = "finished"


@lie("page")
def that_is_no_more(said: Any, other: Any) -> None:
    said["cargo"] = other["gone"]["cargo"]


@lie("sent")
def that_leads_elsewhere(said: Any, other: Any) -> None:
    first(said)["links"][0][0] = "other.example/"


@lie("secret")
def with_a_link_that_is_another(said: Any, other: Any) -> None:
    said["cargo"]["records"]["records"][1][1]["links"][0][1] = "http://other.example/"


@lie("secret")
def with_more_words_than_it_counts(said: Any, other: Any) -> None:
    said["cargo"]["records"]["records"][1][1]["words"]["more"] = 5


@lie("robots")
def that_allows_everything(said: Any, other: Any) -> None:
    said["cargo"]["records"]["records"][1][1]["robots"] = "Sitemap: /map.xml"


@lie("robots")
def with_a_sitemap_of_its_own(said: Any, other: Any) -> None:
    (url, address) = "other.example/map.xml", "http://other.example/map.xml"
    said["cargo"]["records"]["records"][2][1]["children"] = [[url, address, []]]
    said["done"]["found"][0][1], said["done"]["found"][0][4] = [url], [f"sitemap {address}"]


@lie("further")
def that_is_nearer_than_its_page(said: Any, other: Any) -> None:
    said["done"]["found"][0][3] = -5


@lie("further")
def that_becomes_a_page(said: Any, other: Any) -> None:
    said["done"]["found"][0][1] = [said["done"]["found"][0][1][0].removesuffix(MARK)]


def test_a_lie_that_fits_together_is_kept_by_nobody(world: World) -> None:
    told = samples(world)
    for name, change in LIES:
        said = copy.deepcopy({each: told[each][1]._asdict() for each in told})
        change(said[name], said)
        found = world.taken(told[name][0], Result(**said[name]))
        assert isinstance(found, RetryLater), (change.__name__, found)
        assert "cannot be right" in str(found), change.__name__
    assert world.table.files(), "but what was stored before"


def test_what_refers_to_nothing_is_asked_for_again(world: World) -> None:
    """The archive may have lost it since; nobody's attempt is spent."""
    task, message = samples(world)["same"]
    (file,) = world.table.files()
    world.table.cut_back(file.name, 0)
    assert isinstance(world.taken(task, message), ComeBack)


# --- what nodes look up ------------------------------------------------------------------------


def test_an_old_robots_txt_is_read_again_by_one_of_all_nodes(world: World) -> None:
    lane, old = "h.example", time.time() - KEPT_S - 1
    world.table.write([HostNews(name=lane, robots="User-agent: *", robots_at=old)])
    nodes = [AskedRules(AskedTable(world.post, Event()), NodeHosts(Event())) for _ in range(3)]
    assert [each.of(lane) is None for each in nodes] == [True, False, False]
    assert nodes[0].of(lane) is not None, "while it reads"
    world.questions.learn(lane, "User-agent: *\nDisallow: /", time.time() - KEPT_S - AGAIN_S)
    assert [each.of(lane) is None for each in nodes] == [False, False, False]
    late = AskedRules(AskedTable(world.post, Event()), NodeHosts(Event()))
    assert late.of(lane) is None, "whoever read it said nothing"
    assert world.questions.robots("other.example") == {"robots": None}
    nodes[1]._hold(lane, (old, Rules(b"")))
    world.questions.learn(lane, "User-agent: *\nDisallow: /", time.time())
    assert nodes[1].of(lane) is not None, "another one has read it"


@pytest.mark.parametrize("question", ["page", "state", "captures", "digest", "robots"])
def test_questions_about_nothing_have_no_answer(world: World, question: str) -> None:
    for wrong in (None, 7, ["x"], "x" * 100_000):
        with pytest.raises(ValueError, match="no name"):
            world.questions.all()[question](wrong)


def test_who_is_not_answered_does_not_take_it_for_an_answer(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tools.jobs.pages_questions.PATIENCE_S", -1.0)
    world.post.is_there = False
    with pytest.raises(ComeBack):
        AskedTable(world.post, Event()).host("h.example")
    stopped = Event()
    stopped.set()
    monkeypatch.setattr("tools.jobs.pages_questions.PATIENCE_S", 60.0)
    with pytest.raises(Interrupted):
        AskedTable(world.post, stopped).host("h.example")
