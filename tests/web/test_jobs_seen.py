"""The pages of crawls, tasks and structures in a real browser: what is seen of their samples."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import expect

from tests.web.eyes import HAS_BEGUN, Eyes, Look, picture
from tests.web.scene import PATIENCE_S, Served, wait_for
from tests.web.serving import Sampled, looking_at
from tools.web.pages import shown_for

WAIT_MS = 1000 * PATIENCE_S
STATES = {"pages": "**", "layers": "shop", "structure": "seeds"}
PROBLEMS = "section:has(h2:has-text('Problems of the last exports'))"
SEEN: dict[str, dict[str, tuple[str, ...]]] = {
    "pages": {
        "/": ("#stage-download:has-text('72 of 72')", "#disks"),
        "/work": (".slots:has-text('analyse')",),
        "/failed": (".reasons a:has-text('HTTP 410')",),
        "/details": (".cloud span:has-text('plants')", "th:has-text('garden.example')"),
        "/pages": ("th a:has-text('The garden book')", "td:has-text('redirected to itself')"),
        "/pages/page?url=garden.example/": (
            "iframe.copy",
            ".plain a:has-text('/tools/')",
        ),
        "/runs": ("td:has-text('revisits found by their digest')",),
        "/log": ("td.long:has-text('robots.txt: /shed/')",),
        "/settings": ("p:has-text('pages --sample')",),
    },
    "layers": {
        "/": ("#stage-visit:has-text('54 of 54')", "#disks"),
        "/work": (".slots:has-text('visit')",),
        "/failed": ("p:has-text('Nothing failed.')",),
        "/details": ("th:has-text('depth 2: detail')", "th:has-text('review_tag')"),
        "/tables": ("nav a:has-text('product 40')", "td.cell:has-text('青瓷花盆')"),
        "/tables?table=review_tag": ("nav a[aria-current]:has-text('review_tag 79')", "td.cell"),
        "/runs": ("td:has-text('rows product +40')",),
        "/log": ("td.long:has-text('table product made')",),
        "/settings": ("p:has-text('layers --sample')",),
    },
    "structure": {
        "/": ("#stage-parse:has-text('6 of 6')", "th:has-text('structure:higher')"),
        "/work": (".slots:has-text('dispatch')",),
        "/failed": ("p:has-text('Nothing failed.')",),
        "/details": ("th:has-text('extracter:low')", f"{PROBLEMS} th:has-text('raw/A-002.html')"),
        "/tables": ('td.cell:has-text("Robert\'); DROP TABLE accession;--")',),
        "/runs": ("td:has-text('copies +1')",),
        "/log": ("td.long:has-text('1 value did not fit')",),
        "/settings": ("p:has-text('structure --sample')",),
    },
}
"""What is on each page, for whoever looks at it."""
IN_A_COPY = re.compile(r"error: Blocked script execution in 'http://[^/]+/pages/copy\?url=")


@pytest.fixture(scope="module", params=SEEN)
def job(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def shown(job: str, sampled: Sampled) -> Iterator[Served]:
    with looking_at(sampled(job), job, STATES[job]) as page:
        wait_for(lambda: page.get("/api/details").json["is_counted"])
        yield page


@pytest.mark.parametrize(("width", "dark"), [(320, False), (1280, True)])
def test_every_page_fits_and_nobody_complains(
    job: str, shown: Served, browser: Eyes, width: int, dark: bool
) -> None:
    assert {each.address for each in shown_for(job)} <= SEEN[job].keys()
    with browser.looking(shown.full, width, dark=dark) as look:
        for address, selectors in SEEN[job].items():
            look.page.goto(shown.address + address)
            look.page.wait_for_function(HAS_BEGUN)
            for each in selectors:
                expect(look.page.locator(f"main {each}").first).to_be_visible(timeout=WAIT_MS)
            assert look.page.evaluate("document.documentElement.scrollWidth") <= width, address
            picture(look.page, f"{job}{address.partition('?')[0].replace('/', '-')}-{width}")
        assert complaints(look) == []


@pytest.mark.parametrize("job", ["pages"], indirect=True)
def test_a_word_is_the_larger_the_more_often_it_is_there(shown: Served, browser: Eyes) -> None:
    size = "word => parseFloat(getComputedStyle(word).fontSize)"
    with browser.looking(shown.full) as look:
        look.page.goto(f"{shown.address}/details")
        plants, april = (
            look.page.locator(f".cloud span:has-text('{word}')").first.evaluate(size)
            for word in ("plants", "april")
        )
        assert plants > 1.5 * april
        look.page.locator("#words-table summary").click()
        row = look.page.locator("#words-table tr", has_text="plants")
        expect(row.locator("td").first).to_have_text("88")


@pytest.mark.parametrize("job", ["pages"], indirect=True)
def test_an_archived_copy_is_read_in_its_frame(shown: Served, browser: Eyes) -> None:
    with browser.looking(shown.full) as look:
        look.page.goto(f"{shown.address}/pages")
        look.page.get_by_role("link", name="A garden (ja)").click()
        copy = look.page.frame_locator("iframe.copy")
        expect(copy.locator("p").first).to_be_visible(timeout=WAIT_MS)
        expect(copy.locator("body")).to_contain_text("庭にはバラがあります")
        assert complaints(look) == []


def complaints(look: Look) -> list[str]:
    """But that in a copy nothing runs: it is told of what the tests put into each frame, too."""
    return [each for each in look.complaints() if not IN_A_COPY.match(each)]
