"""One visit: what becomes of every kind of answer, of a task's mistakes, and of what it finds."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from tests.support.layers import activity, failures, rows, seen
from tests.support.site import Asked, Pages, Said, Site
from tools.engine import returns
from tools.layers.page import Page
from tools.layers.request import Request
from tools.layers.task import LayerOptions, Skipped, Task
from tools.tables.rows import Row

pytestmark = pytest.mark.timeout(60)


@pytest.fixture(autouse=True)
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is tried again is tried soon."""
    monkeypatch.setattr(returns, "FIRST_RETRY_S", 0.02)


class Notes(Task):
    """Each page is a text: its links are what stands in a tags, its row is its heading."""

    name = "notes"
    layers = {"list": 0, "note": 1}  # noqa: RUF012
    tables = {"note": {"columns": {"url": "VARCHAR(200)", "title": "TEXT"}, "key": ["url"]}}  # noqa: RUF012

    def __init__(self, base: str) -> None:
        self.base = base
        self.first = (Request("list", "GET", "/"),)

    def work(self, request: Request, page: Page) -> Iterable[Request | Row | Skipped]:
        if request.layer == "note":
            title = page.css("h1::text").get()
            if title is None:
                yield Skipped("note", "no title")
            else:
                yield Row("note", url=request.url, title=title)
        for link in page.css("a::attr(href)").getall():
            yield Request("note", "GET", link, request.url)


def listing(*names: str) -> str:
    return "".join(f"<a href='{name}'>{name}</a>" for name in names)


def note(title: str) -> str:
    return f"<h1>{title}</h1>"


def test_a_page_gives_rows_and_what_to_ask_next(tmp_path: Path) -> None:
    with Site({"/": listing("/a", "/b"), "/a": note("A"), "/b": note("B")}) as site:
        job = activity(task := Notes(site.url), tmp_path)
    assert [each[1] for each in rows(task, tmp_path, "note", "url", "title")] == ["A", "B"]
    assert seen(tmp_path).pools == {"finished": 3, "failed": 0, "to_visit": 0, "on_visit": 0}
    assert job.store.rows == {"note": 2}
    assert sorted(site.paths) == ["/", "/a", "/b"]


def test_gone_is_gone_and_trouble_is_tried_again(tmp_path: Path) -> None:
    tries: list[int] = []

    def once(_: Asked) -> str | Said:
        tries.append(1)
        return Said("", 500) if len(tries) == 1 else note("late")

    pages: Pages = {"/": listing("/gone", "/no", "/once"), "/gone": Said("", 410), "/once": once}
    with Site(pages) as site:
        activity(task := Notes(site.url), tmp_path)
    assert rows(task, tmp_path, "note", "title") == [("late",)]
    assert failures(tmp_path) == {
        f"note GET {site.url}gone": "HTTP 410",
        f"note GET {site.url}no": "HTTP 404",
    }
    assert site.paths.count("/gone") == site.paths.count("/no") == 1


def test_other_answers_are_tried_so_often_and_no_more(tmp_path: Path) -> None:
    with Site({"/": listing("/x"), "/x": Said("", 403)}) as site:
        task = Notes(site.url)
        task.attempts = 3
        activity(task, tmp_path)
    assert failures(tmp_path) == {f"note GET {site.url}x": "HTTP 403 (after 3 attempts)"}
    assert site.paths.count("/x") == 3


def test_robots_txt_is_obeyed_unless_the_task_says_otherwise(tmp_path: Path) -> None:
    rules = Said("User-agent: *\nDisallow: /b", kind="text/plain")
    pages: Pages = {
        "/robots.txt": rules,
        "/": listing("/a", "/b"),
        "/a": note("A"),
        "/b": note("B"),
    }
    with Site(pages) as site:
        activity(Notes(site.url), tmp_path / "polite")
        assert "/b" not in site.paths
        assert site.asked[0].target == "/robots.txt"
        assert failures(tmp_path / "polite") == {f"note GET {site.url}b": "robots.txt: /b"}
        task = Notes(site.url)
        task.robots = False
        activity(task, tmp_path / "own")
    assert [row for (row,) in rows(task, tmp_path / "own", "note", "title")] == ["A", "B"]


def test_a_host_that_asks_for_a_pause_rests_and_costs_no_attempt(tmp_path: Path) -> None:
    tries: list[int] = []

    def busy(_: Asked) -> str | Said:
        tries.append(1)
        pause = Said("", 429, headers=(("Retry-After", "1"),))
        return pause if len(tries) < 3 else note("at last")

    with Site({"/": listing("/x"), "/x": busy}) as site:
        task = Notes(site.url)
        task.attempts = 1
        activity(task, tmp_path)
    assert rows(task, tmp_path, "note", "title") == [("at last",)]


def test_a_mistake_of_a_class_is_told_with_its_line_and_the_rest_goes_on(tmp_path: Path) -> None:
    class Wrong(Notes):
        def work(self, request: Request, page: Page) -> Iterable[Request | Row | Skipped]:
            if request.url.endswith("/bad"):
                yield Row("note", url="x", title=str(1 / 0))
            yield from super().work(request, page)

    with Site({"/": listing("/bad", "/a"), "/bad": note("B"), "/a": note("A")}) as site:
        activity(task := Wrong(site.url), tmp_path)
    assert rows(task, tmp_path, "note", "title") == [("A",)]
    ((_, reason),) = failures(tmp_path).items()
    assert reason.startswith("test_visit.py:") and "ZeroDivisionError" in reason


@pytest.mark.parametrize(
    ("item", "reason"),
    [
        (Request("nots", "GET", "/a"), "the task has no layer 'nots'; did you mean 'note'?"),
        (Row("nte", url="x"), "no table 'nte'; did you mean 'note'?"),
        (Row("note", ur="x"), "the table note has no column 'ur'; did you mean 'url'?"),
        ("a text", "the work gave str, which is no request and no row"),
    ],
)
def test_what_the_task_does_not_have_is_refused(tmp_path: Path, item: Any, reason: str) -> None:
    class Wrong(Notes):
        def work(self, request: Request, page: Page) -> Iterable[Request | Row | Skipped]:
            yield item

    with Site({"/": ""}) as site:
        activity(Wrong(site.url), tmp_path)
    assert [*failures(tmp_path).values()] == [reason]


def test_one_missing_address_in_a_list_costs_only_itself(tmp_path: Path) -> None:
    names = [f"/{number}" for number in range(50)]
    links = listing(*names[:20], "mailto:me@example.org", *names[20:])
    with Site({"/": links, **{name: note(name) for name in names}}) as site:
        activity(task := Notes(site.url), tmp_path)
    assert len(rows(task, tmp_path, "note", "title")) == 50
    assert seen(tmp_path).tally["skipped request: no address of the web"] == 1


def test_a_row_that_lacks_something_is_skipped_and_counted(tmp_path: Path) -> None:
    with Site({"/": listing("/a", "/b"), "/a": note("A"), "/b": "<p>no heading"}) as site:
        job = activity(task := Notes(site.url), tmp_path)
    assert rows(task, tmp_path, "note", "title") == [("A",)]
    assert seen(tmp_path).tally["skipped note: no title"] == 1
    assert not failures(tmp_path) and not job.store.misfits


def test_a_link_to_itself_and_two_pages_that_link_to_each_other_end(tmp_path: Path) -> None:
    pages = {"/": listing("/a"), "/a": note("A") + listing("/a", "/b"), "/b": listing("/a")}
    with Site(pages) as site:
        activity(Notes(site.url), tmp_path)
    assert sorted(site.paths) == ["/", "/a", "/b"]


def test_a_page_in_gbk_and_one_that_cannot_be_decoded(tmp_path: Path) -> None:
    kind = "text/html; charset=gbk"
    pages: Pages = {
        "/": listing("/a", "/bad"),
        "/a": Said("<h1>茶叶</h1>".encode("gbk"), kind=kind),
        "/bad": Said(b"<h1>\xff\xff\xff</h1>", kind="text/html; charset=utf-8"),
    }
    with Site(pages) as site:
        task = Notes(site.url)
        task.attempts = 2
        activity(task, tmp_path)
    assert rows(task, tmp_path, "note", "title") == [("茶叶",)]
    ((uri, reason),) = failures(tmp_path).items()
    assert uri.endswith("/bad") and "(after 2 attempts)" in reason


class Asks(Task):
    """Sends what it is told, and keeps what the site says it got."""

    name = "asks"
    layers = {0: 0, 1: 1}  # noqa: RUF012
    layer_options = {1: LayerOptions(format="json")}  # noqa: RUF012
    tables = {"got": {"columns": {"what": "TEXT"}}}  # noqa: RUF012
    forget = ("token",)

    def __init__(self, base: str, *requests: Request) -> None:
        self.base, self.requests = base, requests
        self.first = (Request(0, "GET", "/"),)

    def work(self, request: Request, page: Page) -> Iterable[Request | Row | Skipped]:
        if request.layer == 0:
            yield from self.requests
        else:
            yield Row("got", what=json.dumps(page.json))


def echo(asked: Asked) -> Said:
    names = ("Content-Type", "Referer", "Cookie")
    said = {name: asked.headers[name] for name in names if name in asked.headers}
    body = {"method": asked.method, "target": asked.target, "body": asked.body.decode(), **said}
    return Said(json.dumps(body), kind="application/json")


def got(task: Task, state: Path) -> list[dict[str, str]]:
    return [json.loads(what) for (what,) in rows(task, state, "got", "what")]


def test_forms_and_json_are_posted_once_whatever_their_forgotten_fields_say(
    tmp_path: Path,
) -> None:
    form = {"brand": "Oak", "token": "a"}
    same = {"token": "b", "brand": "Oak"}
    requests = [
        Request(1, "POST", "/e", None, form),
        Request(1, "POST", "/e", None, same),
        Request(1, "JSON", "/j", None, {"a": [1, "ä"]}),
    ]
    with Site({"/": "", "/e": echo, "/j": echo}) as site:
        activity(task := Asks(site.url, *requests), tmp_path)
    posted, json_ = sorted(got(task, tmp_path), key=lambda each: each["target"])
    assert posted["method"] == "POST" and posted["body"] == "brand=Oak&token=a"
    assert posted["Content-Type"] == "application/x-www-form-urlencoded"
    assert json.loads(json_["body"]) == {"a": [1, "ä"]}
    assert json_["Content-Type"] == "application/json"


def test_the_referer_goes_along_and_cookies_only_where_the_task_wants_them(tmp_path: Path) -> None:
    def home(_: Asked) -> Said:
        return Said("", headers=(("Set-Cookie", "session=7; Path=/"),))

    for cookies, sent in (("none", None), ("task", "session=7")):
        with Site({"/": home, "/e": echo}) as site:
            task = Asks(site.url, Request(1, "GET", "/e", site.url))
            task.cookies = cookies
            activity(task, tmp_path / cookies)
        (said,) = got(task, tmp_path / cookies)
        assert said["Referer"] == site.url and said.get("Cookie") == sent


def test_no_json_is_tried_again(tmp_path: Path) -> None:
    with Site({"/": "", "/e": Said("<html>", kind="application/json")}) as site:
        task = Asks(site.url, Request(1, "GET", "/e"))
        task.attempts = 2
        activity(task, tmp_path)
    assert site.paths.count("/e") == 2
    ((_, reason),) = failures(tmp_path).items()
    assert reason.startswith("the answer is not JSON")


def test_deepest_first_and_oldest_first_within_a_depth(tmp_path: Path) -> None:
    """With one worker the order of the questions is exact."""
    pages = {"/": listing("/a", "/b"), "/a": note("A") + listing("/c"), "/b": "", "/c": note("C")}

    class Deeper(Notes):
        layers = {"list": 0, "note": 1, "deep": 2}  # noqa: RUF012

        def work(self, request: Request, page: Page) -> Iterable[Request | Row | Skipped]:
            for item in super().work(request, page):
                is_deep = isinstance(item, Request) and item.url == "/c"
                yield Request("deep", "GET", "/c") if is_deep else item

    with Site(pages) as site:
        task = Deeper(site.url)
        task.workers = 1
        activity(task, tmp_path)
    assert site.paths == ["/", "/a", "/c", "/b"]


class Rude(Notes):
    """Its work is whatever a test says."""

    given: Any = ()

    def work(self, request: Request, page: Page) -> Iterable[Request | Row | Skipped]:
        if request.layer == "list":
            yield from self.given()
        else:
            yield Row("note", url=request.url, title="x")


class Unsaid(Exception):
    def __str__(self) -> str:
        raise ValueError("nothing to say")


def _raise(error: BaseException) -> Any:
    raise error


@pytest.mark.timeout(20)
@pytest.mark.parametrize(
    ("given", "reason"),
    [
        (lambda: _raise(SystemExit(5)), "SystemExit: 5"),
        (lambda: _raise(Unsaid()), "Unsaid"),
        (lambda: [Request([], "GET", "/a")], "TypeError: a layer"),  # type: ignore[arg-type]
        (lambda: [Request("note", "GET", None)], "TypeError: an address"),  # type: ignore[arg-type]
        (lambda: [Request("note", "JSON", "/a", payload=object())], "cannot be kept"),
        (lambda: [Request("note", carried={"n": 10**5000}, url="/a")], "cannot be kept"),
    ],
    ids=["exit", "unsaid", "layer", "address", "payload", "carried"],
)
def test_whatever_a_classs_work_does_fails_that_request_alone(
    tmp_path: Path, given: Any, reason: str
) -> None:
    with Site({"/": "x"}) as site:
        task = Rude(site.url)
        task.given = given
        activity(task, tmp_path)
    (told,) = failures(tmp_path).values()
    assert reason in told
    assert "a bug in Sheaf" not in told


def test_half_a_character_in_what_is_sent_is_asked_for_all_the_same(tmp_path: Path) -> None:
    with Site({"/": "x", "/a": "y"}) as site:
        task = Rude(site.url)
        task.given = lambda: [Request("note", "JSON", "/a", payload={"token": "\ud800"})]
        activity(task, tmp_path)
    assert failures(tmp_path) == {}
    assert len(rows(task, tmp_path, "note", "url")) == 1
