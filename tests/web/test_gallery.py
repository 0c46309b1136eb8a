"""The gallery by keys and by hand in a real browser, and filters that have many values."""

from __future__ import annotations

import html
import re
import sqlite3
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from threading import Event, Lock
from urllib.parse import quote

import pytest
from playwright.sync_api import Page

from tests.web.eyes import Eyes, picture
from tests.web.scene import HOSTILE, PATIENCE_S, Served, copied, served, wait_for
from tools.web.data import facet_list
from tools.web.data.facet_list import EACH, listed
from tools.web.data.gallery import Choice
from tools.web.data.judgements import judged

PAGE, LICENCE = "https://example.org/page?a=1&b=2", "https://example.org/by"
SOUND = "#large-shown audio"


@pytest.fixture(scope="module")
def shown(harvested: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """Sounds have pages elsewhere, gifs have what nobody should follow."""
    folder = copied(harvested, tmp_path_factory.mktemp("gallery"))
    with closing(sqlite3.connect(folder / "state/graph.db")) as db, db:
        change = "UPDATE media SET page = ?, license_url = ?, title = ? WHERE kind = ?"
        db.execute(change, (PAGE, LICENCE, HOSTILE[0], "audio"))
        db.execute(change, ("javascript:alert(1)", "//evil.example", HOSTILE[1], "visual"))
    with served(folder) as found:
        wait_for(lambda: found.get("/api/media").json["is_whole"])
        yield found


def test_small_pictures_are_made_two_at_a_time(
    shown: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each may take much memory; nobody else waits for them."""
    at_work: list[int] = [0]
    lock, may_end = Lock(), Event()

    def made(content: bytes, side: int) -> bytes:
        with lock:
            at_work.append(at_work[-1] + 1)
        assert may_end.wait(PATIENCE_S)
        with lock:
            at_work.append(at_work[-1] - 1)
        return content

    monkeypatch.setattr("tools.web.file_routes.smaller", made)
    monkeypatch.setattr("tools.web.file_routes.SMALL_BYTES", 0)
    files = shown.get("/api/media?kind=image").json["files"][:8]
    paths = [f"/thumb/{quote(each['media']['path'])}" for each in files]
    with ThreadPoolExecutor(8) as asking:
        answers = [asking.submit(shown.get, each) for each in paths]
        wait_for(lambda: at_work[-1] >= 2 and shown.connections() >= 8)
        assert shown.get("/").status == 200
        may_end.set()
        assert [each.result().status for each in answers] == [200] * 8
    assert max(at_work) == 2


def opened(page: Served, path: str) -> str:
    return f"{page.address}{path}{'&' if '?' in path else '?'}token={page.token}"


def test_a_sound_leaves_the_keys_to_the_gallery(shown: Served, browser: Eyes) -> None:
    with browser.looking(opened(shown, "/media?kind=audio")) as look:
        first = look.page.locator(".tile").first
        sha256 = first.get_attribute("data-sha256")
        first.focus()
        look.page.keyboard.press("Enter")
        sound = look.page.locator(SOUND).get_attribute("src")
        look.page.keyboard.press("b")
        wait_for(lambda: judged(shown.state).get(sha256 or "") == "bad")
        look.page.locator(SOUND).focus()
        look.page.keyboard.press("u")
        wait_for(lambda: sha256 not in judged(shown.state))
        look.page.keyboard.press("ArrowRight")
        assert look.page.locator(SOUND).get_attribute("src") == sound, "the sound's own key"
        look.page.locator("#large-close").focus()
        look.page.keyboard.press("ArrowRight")
        assert look.page.locator(SOUND).get_attribute("src") != sound
        look.page.keyboard.press("ArrowLeft")
        assert look.page.locator(SOUND).get_attribute("src") == sound
        assert look.complaints() == []


def scrolls(page: Page) -> None:
    where = "() => window.scrollY"
    before = page.evaluate(where)

    def has_moved() -> bool:
        page.keyboard.press("ArrowDown")
        return bool(page.evaluate(where) != before)

    wait_for(has_moved)


def test_arrows_scroll_until_a_file_has_the_focus(shown: Served, browser: Eyes) -> None:
    with browser.looking(opened(shown, "/media"), height=300) as look:
        scrolls(look.page)
        assert look.page.evaluate("() => document.activeElement === document.body")
        look.page.locator(".facets a").first.focus()
        scrolls(look.page)
        look.page.locator(".tile").first.focus()
        look.page.keyboard.press("ArrowRight")
        tile = "() => [...document.querySelectorAll('.tile')].indexOf(document.activeElement)"
        assert look.page.evaluate(tile) == 1


@pytest.mark.parametrize("how", ["Control", "Shift", "middle"])
def test_a_click_for_another_window_stays_the_browsers(
    shown: Served, browser: Eyes, how: str
) -> None:
    with browser.looking(opened(shown, "/media?kind=image")) as look:
        with look.page.context.expect_page() as other:
            if how == "middle":
                look.page.locator(".tile").first.click(button="middle")
            else:
                look.page.locator(".tile").first.click(modifiers=[how])  # type: ignore[list-item]
        other.value.wait_for_url("**/file/**")
        assert not look.page.locator("#large").is_visible()
        look.page.locator(".tile").first.click()
        assert look.page.locator("#large").is_visible()


def test_a_large_file_leads_to_its_page_and_licence(shown: Served, browser: Eyes) -> None:
    with browser.looking(opened(shown, "/media?kind=audio")) as look:
        look.page.locator(".tile").first.click()
        links = look.page.locator("#large-said a[target=_blank][rel='noopener noreferrer']")
        assert [each.get_attribute("href") for each in links.all()] == [PAGE, LICENCE]
        assert HOSTILE[0] in look.page.locator("#large-said").inner_text()
        picture(look.page, "gallery-large", is_whole=False)
        look.page.goto(f"{shown.address}/media?kind=visual")
        look.page.locator(".tile").first.click()
        assert look.page.locator("#large-said a").count() == 1, "to what it shows"
        assert HOSTILE[1] in look.page.locator("#large-said").inner_text()
        assert look.page.evaluate("() => window.hacked") is None
        assert look.complaints() == []


def test_every_value_of_a_filter_is_reached(shown: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(facet_list, "EACH", 3)
    values = {each["value"] for each in shown.get("/api/media").json["facets"]["choices"]["type"]}
    assert len(values) > 6
    seen, address = set[str](), "/media"
    while address:
        text = html.unescape(shown.get(address).text)
        seen |= {*re.findall(r'href="/media\?type=([^"&]+)"', text)}
        found = re.search(r'href="(/media\?more=type[^"]+)">\d+ more', text)
        address = found[1] if found else ""
    assert seen == values
    assert "the first ones" in text


def test_what_is_chosen_is_listed_first_and_can_be_taken_off(shown: Served) -> None:
    text = shown.get("/media?provider=nobody").text
    assert 'href="/media?" aria-current="true">nobody</a>' in text
    choices = [Choice(str(number), 1) for number in range(100)]
    one = listed("type", choices, "99", "type.40")
    assert one.on == choices[99]
    assert (one.others, one.left) == (choices[40:80], 19)
    assert listed("size", choices, "", "type.40").others == choices[:EACH]
