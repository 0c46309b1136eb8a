"""The live page in a real browser: what a person sees and does."""

from __future__ import annotations

import re
import subprocess
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from playwright.sync_api import Dialog, Page, Route, expect

from tests.web.eyes import HAS_BEGUN, Eyes, is_live, picture
from tests.web.scene import (
    HOSTILE,
    PATIENCE_S,
    Served,
    copied,
    harvesting,
    pools,
    served,
    spoil,
    wait_for,
)

WAIT_MS = 1000 * PATIENCE_S
PLACES = {
    "/": "to_extend",
    "/work": "Nobody is at work",
    "/failed": "HTTP 404",
    "/refused": "a gif that does not move",
    "/runs": "How they were begun",
    "/log": "the limit is reached",
    "/settings": "fetch_workers",
}
"""Pages, and what is read on each of them."""


@pytest.fixture(scope="module")
def spoilt(harvested: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """With failures, some of which have hostile reasons."""
    folder = copied(harvested, tmp_path_factory.mktemp("spoilt"))
    spoil(folder / "state", (*HOSTILE, "HTTP 404 for http://example.org/a"))
    with served(folder) as page:
        yield page


def test_a_harvest_from_its_course_to_its_death(browser: Eyes, tmp_path: Path) -> None:
    """Bars and curves move, a pause stands still and says so, two windows see the same, and who was
    killed is said to be dead within five seconds; of the next one a reason is retried, and it is
    stopped."""
    state = tmp_path / "state"
    with served(tmp_path) as page, ExitStack() as windows:
        with harvesting(tmp_path) as process:
            wait_for(lambda: pools(state).get("done_extend", 0) > 5)
            look, other = (windows.enter_context(browser.looking(page.full)) for _ in range(2))
            see = look.page
            it_goes_on(see)
            it_pauses_and_says_so(see, other.page, state)
            its_log_goes_on(see, other.page, page)
            see.goto(f"{page.address}/work")
            expect(see.locator("#at-work tbody tr").first).to_be_visible(timeout=WAIT_MS)
            picture(see, "work")
            process.kill()
            process.wait(PATIENCE_S)
            expect(see.locator("#word")).to_have_text("killed", timeout=5000)
            expect(other.page.locator("#word")).to_have_text("killed", timeout=5000)
            expect(other.page).to_have_title("killed · the built-in sample · Sheaf")
        spoil(state, ("HTTP 404 for http://example.org/a", "connection lost"))
        with harvesting(tmp_path) as process:
            expect(other.page.locator("#word")).to_have_text("running", timeout=WAIT_MS)
            a_reason_goes_back_to_work(see, page)
            see.goto(page.address)
            it_stops(see, process)
        assert look.complaints() == other.complaints() == []


def it_goes_on(see: Page) -> None:
    expect(see.locator("#word")).to_have_text("running", timeout=WAIT_MS)
    assert "token" not in see.url
    moves(see)
    curves_go_on(see)
    assert see.locator("#curves canvas").count() == 1
    expect(see).to_have_title(re.compile(r"^running · .*extend [\d.,]+/(s|min|h) · "))
    picture(see, "live", is_whole=False)


def it_pauses_and_says_so(see: Page, other: Page, state: Path) -> None:
    """By the keyboard alone."""
    by_keyboard(see, "Pause")
    expect(see.locator("#word")).to_have_text("paused", timeout=WAIT_MS)
    expect(other.locator("#word")).to_have_text("paused", timeout=WAIT_MS)
    expect(other).to_have_title(re.compile("^paused · "))
    expect(see.locator("#resume")).to_be_focused()  # as #pause was
    stands_still(see, state)
    see.keyboard.press("Enter")
    expect(see.locator("#word")).to_have_text("running", timeout=WAIT_MS)
    moves(see)


def its_log_goes_on(see: Page, other: Page, page: Served) -> None:
    see.goto(f"{page.address}/log")
    is_live(see)
    for verb in ("pause", "resume"):
        told = see.locator(".log tr", has_text=f"{verb} on request")
        before = told.count()
        other.click(f"#{verb}")
        expect(told).to_have_count(before + 1, timeout=WAIT_MS)


def a_reason_goes_back_to_work(see: Page, page: Served) -> None:
    see.goto(f"{page.address}/failed")
    is_live(see)
    expect(see.locator(".reasons li")).to_have_count(2)
    by_keyboard(see, "Retry", "connection lost")
    expect(see.locator("#said")).to_contain_text("puts them back to work", timeout=WAIT_MS)
    expect(see.locator(".reasons li")).to_have_count(1, timeout=WAIT_MS)
    expect(see.locator(".reasons li")).to_contain_text("HTTP 404")


def it_stops(see: Page, process: subprocess.Popen[bytes]) -> None:
    """Asked by the keyboard alone, and only once that was confirmed."""
    expect(see.locator("#word")).to_have_text("running", timeout=WAIT_MS)
    moves(see)  # it has begun, so that it listens
    asked: list[str] = []

    def confirm(dialog: Dialog) -> None:
        asked.append(dialog.message)
        dialog.accept()

    see.once("dialog", confirm)
    by_keyboard(see, "Stop")
    expect(see.locator("#said")).to_contain_text("to stop", timeout=WAIT_MS)
    expect(see.locator("#word")).to_have_text("ended", timeout=WAIT_MS)
    assert "Stop the harvest?" in asked[0] and process.wait(PATIENCE_S) == 0


WIDTH = "() => document.querySelector('#stage-extend rect.done').getBoundingClientRect().width"


def moves(see: Page) -> None:
    """What is done, as a number and as a bar."""
    number, wide = see.locator("#stage-extend .figure-done"), see.evaluate(WIDTH)
    expect(number).not_to_have_text(number.inner_text(), timeout=WAIT_MS)
    see.wait_for_function(f"before => ({WIDTH})() !== before", arg=wide, timeout=WAIT_MS)


def curves_go_on(see: Page) -> None:
    see.wait_for_selector("#curves[data-last]", state="attached", timeout=WAIT_MS)
    last = see.locator("#curves").get_attribute("data-last") or ""
    expect(see.locator("#curves")).not_to_have_attribute("data-last", last, timeout=WAIT_MS)


def stands_still(see: Page, state: Path) -> None:
    """What was at work ends; from then on nothing changes, on the disk and on the page."""
    wait_for(lambda: see.locator("#stage-extend .legend .now").inner_text() == "0 at work")
    done = pools(state)["done_extend"]
    shown = re.compile(f"^{done:,}$")
    expect(see.locator("#stage-extend .figure-done")).to_have_text(shown, timeout=WAIT_MS)
    curves_go_on(see)  # samples are still taken
    expect(see.locator("#stage-extend .figure-done")).to_have_text(shown)
    assert pools(state)["done_extend"] == done


def test_retry_empties_a_reason(browser: Eyes, harvested: Path, tmp_path: Path) -> None:
    """By the keyboard alone."""
    folder = copied(harvested, tmp_path)
    spoil(folder / "state", ("HTTP 404 for http://example.org/a", "connection lost"))
    with served(folder) as page, browser.looking(page.full) as look:
        see = look.page
        by_keyboard(see, "Failed")
        expect(see.locator(".reasons li")).to_have_count(2)
        by_keyboard(see, "Retry", "connection lost")
        expect(see.locator("#said")).to_contain_text("1 go back to work", timeout=WAIT_MS)
        expect(see.locator(".reasons li")).to_have_count(1, timeout=WAIT_MS)
        assert look.complaints() == []


def test_failures_are_sought_by_a_host(browser: Eyes, harvested: Path, tmp_path: Path) -> None:
    """What is being typed stays while the page goes on."""
    folder = copied(harvested, tmp_path)
    spoil(folder / "state", ("a.example: connection lost", "b.example: connection lost"))
    with served(folder) as page, browser.looking(page.full) as look:
        see = look.page
        see.goto(f"{page.address}/failed")
        is_live(see)
        see.locator("#filter input").fill("b.exam")
        spoil(folder / "state", ("c.example: connection lost",))
        expect(see.locator("#failed-number")).to_have_text("3", timeout=WAIT_MS)
        expect(see.locator("#filter input")).to_have_value("b.exam")
        see.locator("#filter input").press("Enter")
        expect(see.locator("tbody tr")).to_have_count(1)
        assert "b.example" in see.locator("tbody").inner_text()
        assert look.complaints() == []


def test_uris_of_a_reason_are_copied_while_more_fail(
    browser: Eyes, harvested: Path, tmp_path: Path
) -> None:
    """What somebody has opened stays open."""
    folder = copied(harvested, tmp_path)
    [first] = spoil(folder / "state", ("HTTP 404 for a",))
    with served(folder) as page, browser.looking(page.full) as look:
        see = look.page
        see.goto(f"{page.address}/failed?reason=HTTP+404")
        is_live(see)
        see.locator("#uris summary").click()
        see.locator("#uris textarea").focus()
        assert see.evaluate("getSelection().toString()") == f"{first}\n"
        [second] = spoil(folder / "state", ("HTTP 404 for b",))
        expect(see.locator("tbody tr")).to_have_count(2, timeout=WAIT_MS)
        assert see.locator("#uris textarea").is_visible()
        assert see.locator("#uris textarea").input_value().split() == [first, second]
        see.context.grant_permissions(["clipboard-read", "clipboard-write"])
        box = see.locator("#uris .copy").bounding_box()
        assert box and box["height"] < 50 and box["width"] < 150
        see.locator("#uris .copy").click()
        expect(see.locator("#uris .copy")).to_have_text("Copied")
        assert see.evaluate("() => navigator.clipboard.readText()") == f"{first}\n{second}\n"
        assert look.complaints() == []


def by_keyboard(see: Page, text: str, within: str = "") -> None:
    """Tab until what has the focus says this, then Enter."""
    said = """within => { const it = document.activeElement, all = it.closest('li') || it;
        return [it.textContent.trim(), !within || all.textContent.includes(within)] }"""
    for _ in range(60):
        see.keyboard.press("Tab")
        if see.evaluate(said, within) == [text, True]:
            see.keyboard.press("Enter")
            return
    raise AssertionError(f"{text} cannot be reached by the keyboard")


def test_hostile_names_are_text(browser: Eyes, spoilt: Served) -> None:
    with browser.looking(spoilt.full) as look:
        see = look.page
        see.goto(f"{spoilt.address}/failed")
        is_live(see)
        text = see.locator("main").inner_text()
        assert HOSTILE[0] in text and HOSTILE[1] in text and "犬" in text
        assert see.evaluate("window.hacked") is None
        assert see.locator("main script, main img").count() == 0
        see.goto(f"{spoilt.address}/failed?reason={'%3Cscript%3E'}")
        assert see.evaluate("window.hacked") is None
        picture(see, "failed")
        assert look.complaints() == []


@pytest.mark.parametrize(("width", "dark"), [(320, False), (1280, True)])
def test_every_page_fits_and_nobody_complains(
    browser: Eyes, spoilt: Served, width: int, dark: bool
) -> None:
    with browser.looking(spoilt.full, width=width, dark=dark) as look:
        see = look.page
        for place in PLACES:
            see.goto(spoilt.address + place)
            see.wait_for_function(HAS_BEGUN)
            assert see.evaluate("document.documentElement.scrollWidth") <= width, place
            picture(see, f"{place.strip('/') or 'ended'}-{width}{'-dark' if dark else ''}")
        ground = see.evaluate("getComputedStyle(document.body).backgroundColor")
        assert (sum(map(int, re.findall(r"\d+", ground)[:3])) < 150) == dark
        assert look.complaints() == []


def test_without_javascript_the_pages_read(browser: Eyes, spoilt: Served) -> None:
    with browser.looking(spoilt.full, javascript=False) as look:
        see = look.page
        for place, text in PLACES.items():
            see.goto(spoilt.address + place)
            assert text in see.locator("main").inner_text(), place
            assert see.locator("button:visible").count() == 0, place
        see.goto(spoilt.address)
        assert "Without JavaScript" in see.locator("noscript").inner_text()


def test_the_first_key_moves_nothing(browser: Eyes, page: Served) -> None:
    """The page that jumps when a button takes the focus away is missed by the click."""
    with browser.looking(page.full) as look:
        see = look.page
        before = see.locator(".brand").bounding_box()
        see.keyboard.press("Tab")
        expect(see.locator(".skip")).to_be_focused()
        assert see.locator(".brand").bounding_box() == before
        shown = see.locator(".skip").bounding_box()
        assert shown and shown["width"] > 50


def test_a_page_is_live_however_slowly_its_scripts_come(browser: Eyes, page: Served) -> None:
    """htmx begins when the document is read: what it needs must be there by then."""

    def slowly(route: Route) -> None:
        time.sleep(0.3)
        route.continue_()

    with browser.looking(page.full) as look:
        see = look.page
        see.route("**/hx-sse.min.js", slowly)
        see.reload()
        is_live(see)
        assert look.complaints() == []


def test_a_page_that_is_not_live_says_so_and_tries_again(browser: Eyes, page: Served) -> None:
    """As when too many are open: it shows what it has."""
    answers = iter(["Too many pages are open at once", ""])

    def answer(route: Route) -> None:
        text = next(answers)
        route.fulfill(status=503, body=text) if text else route.continue_()

    with browser.looking(page.full) as look:
        see = look.page
        see.clock.install()
        see.route("**/live/overview", answer)
        see.reload()
        see.clock.fast_forward(6000)
        is_live(see)
        expect(see.locator("#lost")).to_be_hidden(timeout=WAIT_MS)
        assert next(answers, None) is None and "Too many" not in see.locator("main").inner_text()


@pytest.mark.parametrize("is_seen_before", [True, False])
def test_a_page_in_trouble_says_so_and_comes_back(
    browser: Eyes, harvested: Path, tmp_path: Path, is_seen_before: bool
) -> None:
    """A state that is not there yet, as beside a harvest that only begins; or not any more."""
    folder = copied(harvested, tmp_path)
    pools_file, aside = folder / "state" / "pools.db", folder / "aside.db"
    if not is_seen_before:
        pools_file.rename(aside)
    with served(folder) as page, browser.looking(page.full) as look:
        see = look.page
        is_live(see)
        if is_seen_before:
            pools_file.rename(aside)
        expect(see.locator("#trouble")).to_contain_text("there is no harvest", timeout=WAIT_MS)
        expect(see).to_have_title(re.compile("^absent · "))
        picture(see, "trouble")
        aside.rename(pools_file)
        expect(see.locator("#curves canvas")).to_be_visible(timeout=WAIT_MS)
        expect(see.locator("#search")).to_be_visible()
        expect(see).to_have_title(re.compile("^ended · "))
        assert not [said for said in look.complaints() if "503" not in said]


def test_curves_that_hang_are_not_asked_for_again(browser: Eyes, page: Served) -> None:
    """A browser has six connections for a server, and the rest of the page needs some."""
    asked: list[Route] = []
    with browser.looking(page.full) as look:
        see = look.page
        see.clock.install()
        see.route("**/api/curves", lambda route: asked.append(route))
        see.reload()
        see.clock.fast_forward(4000)
        is_live(see)
        assert len(asked) == 1


def test_a_title_in_the_background_goes_on(browser: Eyes, page: Served) -> None:
    """A window that nobody sees gets no stream; its title is seen."""
    answers = iter(['{"title": "killed · Sheaf"}', "", '{"title": "paused · Sheaf"}'])

    def answer(route: Route) -> None:
        text = next(answers)
        route.fulfill(body=text, content_type="application/json") if text else route.abort()

    with browser.looking(page.full) as look:
        see = look.page
        see.clock.install()
        see.reload()
        is_live(see)
        see.route("**/api/status", answer)
        see.evaluate(
            "() => { Object.defineProperty(document, 'hidden', { value: true });"
            " document.dispatchEvent(new Event('visibilitychange')); }"
        )
        for title in ("killed · Sheaf", "no connection · Sheaf", "paused · Sheaf"):
            see.clock.fast_forward(10_000)
            expect(see).to_have_title(title)


def test_a_server_that_is_gone_is_said(browser: Eyes, harvested: Path) -> None:
    with served(harvested) as page:
        window = browser.looking(page.full)
        look = window.__enter__()
        expect(look.page.locator("#lost")).to_be_hidden()
        is_live(look.page)
    try:
        expect(look.page.locator("#lost")).to_be_visible(timeout=WAIT_MS)
        expect(look.page).to_have_title("no connection · Sheaf")
    finally:
        window.__exit__(None, None, None)
