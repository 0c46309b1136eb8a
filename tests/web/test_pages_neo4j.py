"""The pages of a graph that is in Neo4j: each of them, as a program asks and in a real browser."""

from __future__ import annotations

from collections.abc import Iterator
from urllib.parse import quote

import pytest

from tests.support.neo4j_server import AnyServer, emptied, run_with
from tests.web import hand
from tests.web.eyes import Eyes
from tests.web.scene import Served, served, wait_for
from tools.graphs.settings import Neo4jSettings

DOG = "/c/en/dog"
BARKS = "/a/[/r/CapableOf/,/c/en/dog/,/c/en/bark/]"
FIRST = "/more?concept=/c/en/dog&type=AtLocation&way=out"
PAGES = {
    "/search?q=do": DOG,
    DOG: "capable of",
    quote(BARKS): BARKS,
    "/r/CapableOf": DOG,
    FIRST: "/c/en/kennel",
    f"/graph?concept={DOG}": BARKS,
    "/path?from=bark&to=dog": BARKS,
    "/media?kind=image": "commons",
    "/stats": "TIVA-KG",
    f"/queries?concept={DOG}": "MATCH",
}
"""What each of them tells, as a page and as JSON."""


@pytest.fixture(scope="module")
def shown(neo4j_server: AnyServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """Over a part of the sample that was harvested into it."""
    server, folder = emptied(neo4j_server), tmp_path_factory.mktemp("neo4j")
    flags = ("--sample", "--limit", "12", "--depth", "1", "-q", "--graph", server.url)
    done = run_with(server, "main.py", *flags, cwd=folder)
    assert done.returncode == 0, done.stderr
    settings = Neo4jSettings(password=server.password)
    with served(folder, graph=server.url, neo4j=settings) as page:
        wait_for(lambda: page.get("/api/media").json["is_whole"])
        wait_for(lambda: page.get("/api/stats").json["figures"])
        yield page


@pytest.mark.parametrize("address", PAGES)
def test_every_page_and_its_json_tell_of_it(shown: Served, address: str) -> None:
    page, programs = shown.get(address), shown.get(f"/api{address}")
    assert (page.status, programs.status) == (200, 200)
    for text in (page.text, str(programs.json)):
        assert PAGES[address] in text or quote(PAGES[address]) in text
    assert "<h1" in page.text and 'id="trouble"' not in page.text


def test_its_relations_are_a_table(shown: Served) -> None:
    found = shown.get(f"/api{DOG}?format=csv")
    assert found.headers["content-type"] == "text/csv; charset=utf-8"
    assert f"\r\n{BARKS}," in found.text.replace('"', "")


def test_its_files_are_sent(shown: Served) -> None:
    [first, *_] = shown.get("/api/media?kind=image").json["files"]
    for way in ("file", "thumb"):
        answer = shown.get(f"/{way}/{quote(first['media']['path'])}")
        assert answer.status == 200 and answer.headers["content-type"].startswith("image/")
    assert shown.get("/file/MEDIA.jsonl").status == 404


def test_from_a_name_to_its_picture(shown: Served, browser: Eyes) -> None:
    with browser.looking(shown.full) as look:
        see = look.page
        see.keyboard.press("/")
        see.keyboard.type("dog")
        see.locator(f"#found a[href='{DOG}']").first.click()
        see.wait_for_url(f"**{DOG}")
        assert see.locator("h1").inner_text().startswith("dog")
        see.get_by_role("link", name="as a picture").click()
        see.locator("#picture[data-nodes]").wait_for()
        hand.grow(see, hand.with_more(shown, DOG))
        hand.click_twice(see, DOG)
        see.wait_for_url(f"**{DOG}")
        assert look.complaints() == []
