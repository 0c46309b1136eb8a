"""Files that the graph knows and that are not on this computer."""

from __future__ import annotations

import shutil
from pathlib import Path

from playwright.sync_api import expect

from tests.web.eyes import HAS_BEGUN, Eyes
from tests.web.scene import copied, served, wait_for

LOOKED_AT = ("/", "/c/en/dog", "/media?type=-", "/search?q=do", "/graph?concept=/c/en/dog&depth=2")


def test_a_file_that_is_elsewhere_is_told_as_that(
    browser: Eyes, harvested: Path, tmp_path: Path
) -> None:
    """It was shipped, or a node of a cluster has it: nobody asks for it in vain."""
    folder = copied(harvested, tmp_path)
    with served(folder) as page, browser.looking(page.full) as look:
        wait_for(lambda: page.get("/api/media").json["is_whole"])
        for place in LOOKED_AT:
            text = page.get(place).text
            assert "not here" not in text and "not on this computer" not in text, place
        shutil.rmtree(folder / "m" / "en")
        for place in LOOKED_AT:
            look.page.goto(page.address + place)
            look.page.wait_for_function(HAS_BEGUN)
        expect(look.page.locator("#picture[data-nodes]")).to_be_visible()
        look.page.goto(f"{page.address}/media?type=-")
        look.page.locator(".tile").first.click()
        expect(look.page.locator("#large-shown")).to_have_text("The file is not on this computer.")
        assert look.complaints() == []
        assert "not on this computer" in page.get("/c/en/dog").text
