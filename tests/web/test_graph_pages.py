"""The pages of the graph, asked as a program asks and looked at in a real browser."""

from __future__ import annotations

import csv
import json
import re
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from io import StringIO
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode
from xml.etree import ElementTree

import pytest
from playwright.sync_api import Route

from tests.support.store_contract import relation, write
from tests.web import hand
from tests.web.eyes import HAS_BEGUN, Eyes, picture
from tests.web.scene import HOSTILE, Served, copied, scramble, served, wait_for
from tools.add import Entity, Relation
from tools.graphs.sqlite import SqliteGraph
from tools.graphs.sqlite_reader import SqliteReader
from tools.sheets.write import sheet
from tools.web.data.judgements import judged
from tools.web.data.queries import about, queries

SHAPES = {"svg", "defs", "marker", "path", "line", "text", "rect", "clipPath", "image"}
BETWEEN = "What there is between two names, in either direction"
DOG, TOY = "/c/en/dog", "/c/de/spielzeug"
NAMES = tuple(each.replace(" ", "_").replace("/", "%") for each in HOSTILE)


@pytest.fixture(scope="module")
def folder(harvested: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """With names that nobody would choose."""
    to = copied(harvested, tmp_path_factory.mktemp("graph"))
    with closing(SqliteGraph(to / "state/graph.db")) as graph:
        strange = [f"/c/en/{name}" for name in NAMES]
        graph.write([Entity.of(each) for each in (*strange, TOY)], ())
        write(graph, *(relation("HasA", "/c/en/dog", each, 99.0) for each in strange))
        write(graph, relation("HasA", "/c/en/dog", "/c/en/toy", 98.0))
        stuff = [relation("CreatedBy", f"/c/en/stuff_{at}", "/c/en/toy") for at in range(40)]
        write(graph, *stuff, relation("SymbolOf", "/c/en/toy", strange[3], 9.0))
    return to


@pytest.fixture(scope="module")
def shown(folder: Path) -> Iterator[Served]:
    with served(folder) as found:
        wait_for(lambda: found.get("/api/media").json["is_whole"])
        yield found


def asked(**values: str) -> str:
    return urlencode(values)


# --- as a program asks ---------------------------------------------------------------------------


def test_every_page_and_its_json_answer(shown: Served) -> None:
    barks = quote("/a/[/r/HasA/,/c/en/dog/,/c/en/犬/]")
    addresses = ("/search?q=do", "/c/en/dog", "/graph?concept=/c/en/dog", "/r/HasA", barks,
                 "/path?from=dog&to=犬", "/media?kind=image", "/stats", "/queries")  # fmt: skip
    for address in addresses:
        safe = quote(address, safe="/?=&%")
        page = shown.get(safe)
        assert (page.status, page.headers["content-type"]) == (200, "text/html; charset=utf-8")
        assert "<h1" in page.text
        assert shown.get(f"/api{safe}").status == 200, address


@pytest.mark.parametrize(
    "address",
    ["/c/en/nobody", "/c/", "/a/[]", "/graph?concept=x", "/more?concept=x", "/c/%00", "/c/%ff",
     "/thumb/../state/graph.db", "/thumb/%2e%2e/state/pools.db", "/file/x", "/thumb/MEDIA.jsonl"],
)  # fmt: skip
def test_what_is_not_there_is_404(shown: Served, address: str) -> None:
    assert shown.get(address).status == 404


def test_hostile_questions_are_text(shown: Served) -> None:
    for text in (*HOSTILE, "NEAR(", '"', "*", "\x00", "a" * 3000):
        for address in ("/search", "/path", "/media", "/queries"):
            query = asked(q=text, to=text, kind=text, concept=text, after=text, **{"from": text})
            answer = shown.get(f"{address}?{query}")
            assert answer.status == 200, (address, text)
            assert "<script>window" not in answer.text


def test_search_as_you_type_is_a_part_of_a_page(shown: Served) -> None:
    part = shown.get("/search/found?q=do")
    assert part.status == 200
    assert "<html" not in part.text
    assert 'href="/c/en/dog"' in part.text


def test_the_next_relations_are_a_part_or_a_page(shown: Served) -> None:
    """Without a script, or in another window, a link leads to them."""
    address = f"/more?{asked(concept='/c/en/dog', type='HasA', way='out')}"
    whole = shown.get(address).text
    part = shown.ask(address, Authorization=f"Bearer {shown.token}", HX_Request="true").text
    assert "<html" in whole and "dog has" in whole and 'href="/c/en/dog"' in whole
    assert "<html" not in part and "<li" in part
    assert part.strip().split("</li>")[0] in whole


def test_a_file_is_judged_once_it_is_known(shown: Served) -> None:
    [first, *_] = shown.get("/api/media").json["files"]
    sha256 = first["media"]["sha256"]
    bearer = {"Authorization": f"Bearer {shown.token}", "Accept": "application/json"}
    for verdict in ("bad", "none", "good"):
        said = shown.ask("/act/judge", "POST", asked(sha256=sha256, verdict=verdict), **bearer)
        assert said.status == 200
    assert judged(shown.state)[sha256] == "good"
    for wrong in ("f" * 64, "x", ""):
        said = shown.ask("/act/judge", "POST", asked(sha256=wrong, verdict="bad"), **bearer)
        assert said.status == 409
    said = shown.ask("/act/judge", "POST", asked(sha256=sha256, verdict="bad"))
    assert said.status == 403
    assert judged(shown.state)[sha256] == "good"
    only = shown.get("/api/media?judged=good").json["files"]
    assert [each["media"]["sha256"] for each in only] == [sha256]


def test_nobody_judges_a_page_that_is_only_read(folder: Path) -> None:
    with served(folder, is_read_only=True) as page:
        said = page.ask("/act/judge", "POST", "", Authorization=f"Bearer {page.token}")
        assert said.status == 403
        assert "data-verdict" not in page.get("/media").text


def test_figures_are_counted_aside_and_kept(shown: Served) -> None:
    figures = wait_for(lambda: shown.get("/api/stats").json["figures"])
    assert figures["concepts"] > 10
    assert json.loads((shown.state / "stats.json").read_bytes())["concepts"] == figures["concepts"]
    assert "TIVA-KG" in shown.get("/stats").text


def test_small_pictures_are_small_and_run_nothing(shown: Served) -> None:
    [first, *_] = shown.get("/api/media?kind=image").json["files"]
    answer = shown.get("/thumb/" + quote(first["media"]["path"]))
    assert answer.status == 200
    assert answer.headers["content-type"].startswith("image/")
    assert "sandbox" in answer.headers["content-security-policy"]


def test_queries_to_copy_run_as_they_are(folder: Path) -> None:
    with closing(sqlite3.connect(folder / "state/graph.db")) as db:
        for name in ("dog", "o'neil\\", *HOSTILE):
            for each in about(f"/c/en/{name}", name):
                rows = db.execute(each.sql).fetchall()
                assert rows or name != "dog" or "two relations" in each.title
            for each in queries(f"/c/en/{name}", name, f"'$uri $name {name}"):
                db.execute(each.sql).fetchall()


def test_queries_are_about_whom_a_name_or_a_uri_means(shown: Served) -> None:
    for of in ("dog", "Dog", "/c/en/dog"):
        found = shown.get(f"/api/queries?{asked(concept=of, other='/c/en/toy')}").json
        texts = {each["title"]: each["sql"] for each in found["queries"]}
        assert "'/c/en/dog'" in texts["One concept, by its URI"], of
        assert "a.name = 'dog' AND b.name = 'toy'" in texts[BETWEEN], of
        assert found["sentence"] == ""
    german = shown.get("/api/queries?concept=spielzeug").json["queries"]
    assert any(TOY in each["sql"] for each in german)
    page = shown.get(f"/queries?{asked(concept='no such thing')}").text
    assert "There is no concept &#39;no such thing&#39;." in page
    assert "There is no" not in shown.get("/queries").text
    more = f"/queries?{asked(concept='/c/en/dog')}"
    assert f'href="{more}"' in shown.get("/c/en/dog").text


def test_relations_as_a_table(shown: Served, folder: Path) -> None:
    """All of them, whatever their ends are called, for a spreadsheet to keep."""
    found = shown.get("/api/c/en/dog?format=csv")
    assert (found.status, found.headers["content-type"]) == (200, "text/csv; charset=utf-8")
    assert found.headers["content-disposition"] == 'attachment; filename="c_en_dog.csv"'
    columns, *rows = csv.reader(StringIO(found.text, newline=""))
    assert columns == [*Relation._fields]
    with closing(sqlite3.connect(folder / "state/graph.db")) as db:
        joined = "SELECT uri, start_uri, end_uri FROM relation WHERE ? IN (start_uri, end_uri)"
        wanted = db.execute(joined, (DOG,)).fetchall()
    assert sorted((row[0], row[2], row[3]) for row in rows) == sorted(wanted)
    assert 'href="/api/c/en/dog?format=csv"' in shown.get(DOG).text
    assert shown.get("/api/c/en/nobody?format=csv").status == 404
    for name in NAMES:
        header = shown.get(f"/api{quote(f'/c/en/{name}')}?format=csv").headers
        assert re.fullmatch(r'attachment; filename="\w+\.csv"', header["content-disposition"])


def test_a_graph_that_is_spoilt_inside_is_said(folder: Path, tmp_path: Path) -> None:
    to = copied(folder, tmp_path)
    scramble(to / "state/graph.db")
    with served(to) as page:
        for address in ("/c/en/dog", "/api/c/en/dog", "/search?q=dog"):
            answer = page.get(address)
            assert (answer.status, "is damaged" in answer.text) == (503, True), address


# --- in a browser --------------------------------------------------------------------------------


def opened(shown: Served, path: str) -> str:
    """The address with its token, which is changed for a cookie at once."""
    return f"{shown.address}{path}{'&' if '?' in path else '?'}token={shown.token}"


def test_names_appear_while_one_types(shown: Served, browser: Eyes) -> None:
    with browser.looking(opened(shown, "/search")) as look:
        look.page.keyboard.press("/")
        look.page.keyboard.type("dog")
        look.page.locator("#found a[href='/c/en/dog']").first.click()
        look.page.wait_for_url("**/c/en/dog")
        assert look.page.locator("h1").inner_text().startswith("dog")
        assert look.complaints() == []


def test_the_neighbourhood_is_a_list_in_words_too(shown: Served) -> None:
    text = shown.get("/graph?concept=/c/en/dog").text
    assert "<bdi>dog is capable of bark</bdi></a></li>" in text


def test_what_was_typed_last_is_found(shown: Served, browser: Eyes) -> None:
    """However late the answer to the beginning of it comes."""
    held: list[Route] = []
    with browser.looking(opened(shown, "/search")) as look:
        look.page.clock.install()
        look.page.goto(f"{shown.address}/search")
        look.page.route("**/search/found?q=d", lambda route: held.append(route))
        look.page.locator("#search").focus()
        for letter in "dog":
            look.page.keyboard.type(letter)
            look.page.clock.run_for(1000)  # as if somebody stopped
        wait_for(lambda: look.page.title() and held)  # it is asked something, so that it goes on
        with look.page.expect_response("**/search/found?q=dog", timeout=10_000):
            held[0].continue_()
        assert look.complaints() == []


def test_the_search_is_at_hand_on_every_page(shown: Served, browser: Eyes) -> None:
    with browser.looking(opened(shown, "/")) as look:
        for place in ("/", "/failed", "/media", "/stats", "/graph?concept=/c/en/dog"):
            look.page.goto(shown.address + place)
            look.page.wait_for_function(HAS_BEGUN)
            look.page.keyboard.press("/")
            look.page.keyboard.type("dog")
            look.page.locator("#found a[href='/c/en/dog']").first.wait_for()
            assert look.page.locator("[role=search]").count() == 1
        look.page.keyboard.press("Enter")
        look.page.wait_for_url("**/search?q=dog")
        assert look.complaints() == []


def test_a_concept_with_hostile_neighbours(shown: Served, browser: Eyes) -> None:
    with browser.looking(opened(shown, "/c/en/dog")) as look:
        texts = look.page.locator(".other").all_inner_texts()
        assert any("犬" in text for text in texts)
        assert look.page.evaluate("() => window.hacked") is None
        assert look.page.evaluate("() => document.documentElement.scrollWidth <= window.innerWidth")
        assert look.complaints() == []


def test_a_page_leads_to_no_other_server_of_this_computer(shown: Served) -> None:
    """Where the sample's media came from nobody answers any more."""
    [first, *_] = shown.get("/api/media?kind=image").json["files"]
    assert first["media"]["page"].startswith("http://127.0.0.1:")
    for address in (quote(first["owner"]), "/media?kind=image"):
        text = shown.get(address).text
        assert quote(first["media"]["path"]) in text
        assert not re.search(r"""=["']http://127""", text)


def bare(text: str) -> str:
    return re.sub("<[^>]*>", "", text)


def test_a_page_in_a_file_says_the_same(shown: Served, folder: Path, tmp_path: Path) -> None:
    with closing(SqliteReader(folder / "state/graph.db")) as reader:
        file = sheet(reader, folder / "m", "/c/en/dog", tmp_path).read_text("utf-8")
    page = shown.get("/c/en/dog").text
    headings, captions = r"<h2>.*?</h2>", r"<figcaption>.*?</figcaption>"
    assert (titles := [bare(each) for each in re.findall(headings, page)])
    assert [bare(each) for each in re.findall(headings, file)] == titles
    assert (credits := set(re.findall(captions, page, re.DOTALL)))
    assert credits <= set(re.findall(captions, file, re.DOTALL))  # it has more relations at once


PLAYED = """async sound => {
    const heard = name => new Promise(done => sound.addEventListener(name, done, {once: true}));
    await sound.play();
    while (sound.currentTime === 0 && !sound.ended) await heard('timeupdate');
    const played = sound.currentTime;
    sound.pause();
    const sought = heard('seeked');
    sound.currentTime = sound.duration * 0.75;
    await sought;
    return [played, sound.currentTime / sound.duration, sound.error && sound.error.message];
}"""


def test_a_sound_plays_and_can_be_sought(shown: Served, browser: Eyes) -> None:
    """Not a FLAC: in one of seconds Chromium fails to find some places, wherever it comes from."""
    sounds = shown.get("/api/media?kind=audio").json["files"]
    first = next(each for each in sounds if each["media"]["mime"] == "audio/wav")
    with browser.looking(opened(shown, quote(first["owner"]))) as look:
        played, part, error = look.page.locator("audio[src$=wav]").first.evaluate(PLAYED)
        assert played > 0
        assert (round(part, 2), error) == (0.75, None)
        assert look.complaints() == []


def test_the_picture_grows_by_a_click_and_opens_by_two(shown: Served, browser: Eyes) -> None:
    """What somebody dragged stays where it is."""
    with browser.looking(opened(shown, "/graph?concept=/c/en/dog")) as look:
        look.page.locator("#picture[data-nodes]").wait_for()
        names = hand.drawn_around(shown, DOG)[1:]
        assert len(names) > 5
        more = hand.with_more(shown, DOG)
        other = next(each for each in reversed(names) if each != more)
        before = hand.placed(look.page, other)
        hand.drag(look.page, other, 30, -20)
        after = hand.placed(look.page, other)
        assert after["x"] > before["x"] + 10 and after["y"] < before["y"] - 10
        hand.grow(look.page, more)
        assert hand.placed(look.page, other) == after
        hand.click_twice(look.page, "/c/en/dog")
        look.page.wait_for_url("**/c/en/dog")
        assert look.complaints() == []


def test_the_picture_shows_what_was_chosen_last(shown: Served, browser: Eyes) -> None:
    """An answer to an earlier choice comes too late; one that does not come at all is said."""
    held: list[Route] = []

    def hold(route: Route) -> None:
        if held:
            route.continue_()
        held.append(route)

    with browser.looking(opened(shown, "/graph?concept=/c/en/dog")) as look:
        look.page.locator("#picture[data-nodes]").wait_for()
        look.page.route("**/api/graph?*", hold)
        boxes = look.page.locator("#choices input[type=checkbox]")
        last = boxes.nth(boxes.count() - 1).get_attribute("value")
        for box in boxes.all()[:-1]:
            box.evaluate("box => { box.checked = false; }")
        boxes.first.check()
        with look.page.expect_response("**/api/graph?*"):
            boxes.first.uncheck()
        with look.page.expect_response("**/api/graph?*") as late:
            held[0].continue_()
        late.value.finished()
        look.page.evaluate("() => fetch('/api/status').then(answer => answer.json())")
        types = "() => [...new Set(picture.edges().map(each => each.data('type')))]"
        assert look.page.evaluate(types) == [last]
        look.page.unroute("**/api/graph?*")
        look.page.route("**/api/graph?*", lambda route: route.abort())
        look.page.click("#again")
        look.page.locator("#picture-said", has_text="cannot be shown now").wait_for()
        assert not [each for each in look.complaints() if each.startswith("thrown")]


def test_the_picture_joins_neighbours_and_goes_two_steps(shown: Served, browser: Eyes) -> None:
    """And what comes in by growing can be chosen and left out."""
    inner = "() => picture.edges().filter(e => !e.connectedNodes('.centre').length).length"
    with browser.looking(opened(shown, "/graph?concept=/c/en/dog")) as look:
        drawn = look.page.locator("#picture[data-nodes]")
        drawn.wait_for()
        first = int(drawn.get_attribute("data-nodes") or 0)
        assert look.page.evaluate(inner) > 0
        new = look.page.locator("#types input[value=CreatedBy]")
        assert new.count() == 0
        hand.click(look.page, "/c/en/toy")
        look.page.locator(f"#picture[data-nodes='{first + 10}']").wait_for()
        new.uncheck()
        look.page.locator(f"#picture[data-nodes='{first}']").wait_for()
        assert new.count() == 1
        new.check()
        look.page.locator("select[name=depth]").select_option("2")
        look.page.locator(f"#picture:not([data-nodes='{first}'])").wait_for()
        assert first < int(drawn.get_attribute("data-nodes") or 0) <= 24 + 36 + 1
        picture(look.page, "graph-two-steps")
        assert look.complaints() == []


def test_the_picture_by_keyboard_alone(shown: Served, browser: Eyes) -> None:
    with browser.looking(opened(shown, "/graph?concept=/c/en/dog")) as look:
        drawn, keys = look.page.locator("#picture[data-nodes]"), look.page.keyboard
        drawn.wait_for()
        look.page.locator("#again").focus()
        keys.press("Tab")
        assert drawn.get_attribute("data-chosen") == "/c/en/dog", "the focus came to it"
        keys.press("ArrowRight")
        right = drawn.get_attribute("data-chosen")
        assert hand.placed(look.page, right or "")["x"] > 0
        assert look.page.locator("#picture-chosen").inner_text()
        keys.press("ArrowLeft")
        assert drawn.get_attribute("data-chosen") == "/c/en/dog"
        keys.press("ArrowUp")
        assert hand.placed(look.page, drawn.get_attribute("data-chosen") or "")["y"] < 0
        before = int(drawn.get_attribute("data-nodes") or 0)
        for _ in range(before):
            keys.press("n")
            if drawn.get_attribute("data-chosen") == "/c/en/toy":
                break
        assert look.page.locator("#picture-chosen").inner_text().startswith("toy, joined with")
        picture(look.page, "graph-by-keys")
        keys.press("Enter")
        look.page.locator(f"#picture[data-nodes='{before + 10}']").wait_for()
        keys.press("n")
        keys.press("p")
        keys.press("Tab")
        assert look.page.evaluate("() => document.activeElement.id") != "picture", "no trap"
        keys.press("Shift+Tab")
        keys.press("o")
        look.page.wait_for_url("**/c/en/toy")
        assert look.complaints() == []


@pytest.mark.parametrize("place", ["/media?kind=visual", "/c/en/dog"])
def test_who_wants_no_motion_sees_none(shown: Served, browser: Eyes, place: str) -> None:
    with browser.looking(opened(shown, place)) as look:
        look.page.emulate_media(reduced_motion="reduce")
        look.page.reload()
        seen = look.page.locator("picture img").first
        seen.scroll_into_view_if_needed()
        look.page.wait_for_function("() => document.querySelector('picture img').currentSrc")
        address = str(seen.evaluate("img => img.currentSrc")).removeprefix(shown.address)
        assert address.startswith("/thumb/")
        assert shown.get(address).headers["content-type"] == "image/webp"
        assert look.complaints() == []


def test_the_gallery_by_keyboard_alone(shown: Served, browser: Eyes) -> None:
    with browser.looking(opened(shown, "/media?kind=image")) as look:
        look.page.locator(".tile").nth(1).focus()
        look.page.keyboard.press("ArrowRight")
        sha256 = look.page.locator(".tile").nth(2).get_attribute("data-sha256")
        look.page.keyboard.press("b")
        look.page.locator(".tiles li.bad").first.wait_for()
        assert sha256 is not None
        assert judged(shown.state)[sha256] == "bad"
        look.page.keyboard.press("Enter")
        look.page.locator("#large-shown img").wait_for()
        assert sha256 in look.page.locator("#large-said").inner_text()
        look.page.keyboard.press("u")
        look.page.locator(".tiles li.bad").first.wait_for(state="detached")
        assert sha256 not in judged(shown.state)
        look.page.keyboard.press("Escape")
        assert look.complaints() == []


def test_a_refused_judgement_is_told(shown: Served, browser: Eyes) -> None:
    """By the guard, by the graph, and by nobody at all; on the page, and over it."""
    before = judged(shown.state)
    stranger = {"headers": {"x-sheaf-token": "x"}}
    unknown = {"post_data": asked(sha256="f" * 64, verdict="bad")}
    changes: list[dict[str, Any] | None] = []
    with browser.looking(opened(shown, "/media?kind=image")) as look:
        look.page.route("**/act/judge", lambda route: _sent_on(changes[-1], route))
        look.page.locator(".tile").first.focus()
        for place in ("#said", "#large-notice"):
            if place == "#large-notice":
                look.page.keyboard.press("Enter")
                look.page.locator("#large-shown img").wait_for()
            for change, told in ((stranger, "reload it"), (unknown, "no such file"), (None, "try")):
                changes.append(change)
                look.page.keyboard.press("b")
                look.page.locator(f"{place} .notice.bad", has_text=told).wait_for()
            picture(look.page, f"refused-{place[1:]}", is_whole=False)
        assert look.page.locator(".tiles li.bad").count() == 0
        assert not [each for each in look.complaints() if each.startswith("thrown")]
    assert judged(shown.state) == before


def _sent_on(change: dict[str, Any] | None, route: Route) -> None:
    if change is None:
        route.abort()
    else:
        headers = {**route.request.headers, **change.get("headers", {})}
        route.continue_(**{**change, "headers": headers})


def test_keys_judge_only_the_tile_that_has_the_focus(shown: Served, browser: Eyes) -> None:
    with browser.looking(opened(shown, "/media?kind=image")) as look:
        sent: list[str] = []
        look.page.on("request", lambda each: sent.append(each.method))
        look.page.evaluate("() => document.body.append(document.createElement('textarea'))")
        for place in ("textarea", ".facets summary", ".tile-name"):
            look.page.locator(place).first.focus()
            look.page.keyboard.type("gb")
        look.page.evaluate("() => document.activeElement.blur()")
        look.page.keyboard.type("gb")
        assert "POST" not in sent
        look.page.locator(".tile").first.focus()
        with look.page.expect_request("**/act/judge"):
            look.page.keyboard.type("u")


PLACES = {
    "/search?q=d": "/c/en/dog",
    "/c/en/dog": "a dog can bark",
    "/media": "CC BY-SA 4.0",
    "/stats": "With media",
    "/path?from=dog&to=wolf": "wolf",
    "/r/HasA": "The heaviest",
    "/graph?concept=/c/en/dog&depth=2": "As a list",
    "/queries": "What begins at a name",
    "/media?more=type.1": "CreatedBy",
}
"""Pages, and what is read on each of them."""


def test_every_page_is_narrow_and_dark(shown: Served, browser: Eyes) -> None:
    with browser.looking(opened(shown, "/search"), width=320, dark=True) as look:
        for path in PLACES:
            look.page.goto(shown.address + path)
            wide = look.page.evaluate("() => document.documentElement.scrollWidth")
            assert wide <= 320, path
        assert look.complaints() == []


def test_every_page_reads_without_javascript(shown: Served, browser: Eyes) -> None:
    wait_for(lambda: shown.get("/api/stats").json["figures"])
    with browser.looking(opened(shown, "/search"), javascript=False) as look:
        for path, text in PLACES.items():
            look.page.goto(shown.address + path)
            assert text in look.page.locator("main").inner_text(), path


def test_the_picture_is_saved_as_svg_and_png(shown: Served, browser: Eyes, tmp_path: Path) -> None:
    """Well-formed, whatever a concept is called, and with its pictures in it."""
    with browser.looking(opened(shown, "/graph?concept=/c/en/dog")) as look:
        look.page.locator("#picture[data-nodes]").wait_for()
        for name in ("svg", "png"):
            with look.page.expect_download() as coming:
                look.page.locator(f"#{name}").click()
            coming.value.save_as(tmp_path / name)
        assert look.complaints() == []
    assert (tmp_path / "png").read_bytes().startswith(b"\x89PNG")
    drawn = ElementTree.parse(tmp_path / "svg").getroot()
    assert {each.tag.rpartition("}")[2] for each in drawn.iter()} == SHAPES
    images = [each.get("href", "") for each in drawn.iter("{http://www.w3.org/2000/svg}image")]
    assert images and all(each.startswith("data:image/") for each in images)
