"""A line that was cut without a word, and a server that was started anew, as the page says them."""

from __future__ import annotations

import os
import signal
from pathlib import Path

from playwright.sync_api import expect

from tests.support.command import start_in
from tests.web.eyes import Eyes, is_live
from tests.web.scene import PATIENCE_S, copied, served, wait_for
from tests.web.serving import address_in

WAIT_MS = 1000 * PATIENCE_S


def test_a_server_that_falls_silent_is_said(browser: Eyes, harvested: Path, tmp_path: Path) -> None:
    """Nothing tells a browser that nobody answers any more."""
    with start_in(copied(harvested, tmp_path), "main.py", "serve", "--port", "0") as server:
        try:
            with browser.looking(address_in(server)) as look:
                look.page.clock.install()
                look.page.reload()
                is_live(look.page)
                look.page.clock.fast_forward(11_000)
                expect(look.page.locator("#lost")).to_be_hidden()
                os.kill(server.pid, signal.SIGSTOP)
                look.page.clock.fast_forward(11_000)
                expect(look.page.locator("#lost")).to_contain_text("No connection", timeout=WAIT_MS)
                os.kill(server.pid, signal.SIGCONT)
                look.page.clock.fast_forward(11_000)
                expect(look.page.locator("#lost")).to_be_hidden(timeout=WAIT_MS)
        finally:
            os.kill(server.pid, signal.SIGCONT)
            server.terminate()
            server.communicate(timeout=PATIENCE_S)


def test_a_line_that_brings_nothing_is_begun_anew(browser: Eyes, harvested: Path) -> None:
    """In the place of the old one: a browser has six to a server."""
    body = '{"title": "something that no line has brought"}'
    with served(harvested) as page, browser.looking(page.full) as look:
        look.page.clock.install()
        look.page.reload()
        is_live(look.page)
        look.page.route("**/api/status", lambda route: route.fulfill(body=body))
        for _ in range(3):
            with look.page.expect_response("**/live/overview"):
                look.page.clock.fast_forward(11_000)
            is_live(look.page)
            wait_for(lambda: page.streams() == 1)
        assert look.complaints() == []


def test_a_server_that_was_started_anew_is_said(browser: Eyes, harvested: Path) -> None:
    with served(harvested) as page:
        window = browser.looking(page.full)
        look = window.__enter__()
        is_live(look.page)
    try:
        look.page.route("**/*", lambda route: route.fulfill(status=403, body="another token"))
        expect(look.page.locator("#lost")).to_contain_text("started anew", timeout=WAIT_MS)
    finally:
        window.__exit__(None, None, None)
