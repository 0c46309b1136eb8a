"""A real browser, by Playwright, that remembers every complaint and every request to elsewhere."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from playwright.sync_api import Browser, BrowserContext, Page, Playwright, sync_playwright

from tests.support.browser import FLAGS
from tests.support.browser import program as chromium
from tests.support.needs import missing

WITNESS = """window.violations = [];
document.addEventListener('securitypolicyviolation',
    each => violations.push(each.violatedDirective + ' ' + each.blockedURI));"""
ARGUMENTS = [
    *(flag for flag in FLAGS if "headless" not in flag and "pipe" not in flag),
    "--autoplay-policy=no-user-gesture-required",
]
PATIENCE_MS = 30_000
# Functions, for a page forbids `eval`: an expression would be evaluated again there.
IS_LIVE = "() => document.querySelector('#live')._htmx?.sse?.status === 200"
HAS_BEGUN = "() => document.documentElement.classList.contains('has-js')"
PICTURES = os.environ.get("SHEAF_TEST_PICTURES")  # a folder, for whoever wants to look


def picture(page: Page, name: str, is_whole: bool = True) -> None:
    """What is seen now, for people; some of these are the README's."""
    if PICTURES:
        page.screenshot(path=f"{PICTURES}/{name}.png", full_page=is_whole)


def is_live(page: Page) -> None:
    page.wait_for_function(IS_LIVE)


class Look:
    """One window. `complaints` must be empty in the end."""

    def __init__(self, page: Page, netloc: str) -> None:
        self.page = page
        self._netloc = netloc
        self._said: list[str] = []
        page.on("console", lambda each: self._console(each))
        page.on("pageerror", lambda each: self._said.append(f"thrown: {each}"))
        page.on("request", lambda each: self._request(each.url))

    def _console(self, message: Any) -> None:
        if message.type in ("error", "warning"):
            self._said.append(f"{message.type}: {message.text}")

    def _request(self, url: str) -> None:
        if not url.startswith("data:") and urlsplit(url).netloc != self._netloc:
            self._said.append(f"asked {url}")

    def complaints(self) -> list[str]:
        violations = self.page.evaluate("window.violations || []")
        return [*self._said, *violations]


class Eyes:
    def __init__(self, browser: Browser) -> None:
        self._browser = browser

    @contextmanager
    def looking(
        self,
        address: str,
        width: int = 1280,
        height: int = 900,
        dark: bool = False,
        javascript: bool = True,
    ) -> Iterator[Look]:
        """A window of its own, without the cookies of others, at this address."""
        context = self._browser.new_context(
            viewport={"width": width, "height": height},
            color_scheme="dark" if dark else "light",
            java_script_enabled=javascript,
        )
        if javascript:
            context.add_init_script(WITNESS)
        with _window(context, address) as look:
            yield look


@contextmanager
def eyes() -> Iterator[Eyes]:
    with _playing() as playwright:
        browser = playwright.chromium.launch(**_program())
        try:
            yield Eyes(browser)
        finally:
            browser.close()


@contextmanager
def eyes_at_home(address: str, profile: Path) -> Iterator[Look]:
    """A window of a browser that remembers, as people's do: only such a one connects ahead."""
    with _playing() as playwright:
        context = playwright.chromium.launch_persistent_context(profile, **_program())
        context.add_init_script(WITNESS)
        with _window(context, address) as look:
            yield look


@contextmanager
def _window(context: BrowserContext, address: str) -> Iterator[Look]:
    """At this address; its cookies go with it."""
    try:
        context.set_default_timeout(PATIENCE_MS)
        page = context.new_page()
        look = Look(page, urlsplit(address).netloc)
        page.goto(address)
        yield look
    finally:
        context.close()


def _program() -> dict[str, Any]:
    return {"executable_path": chromium(), "args": ARGUMENTS, "chromium_sandbox": False}


@contextmanager
def _playing() -> Iterator[Playwright]:
    with ExitStack() as stack:
        try:
            playwright = stack.enter_context(sync_playwright())
        except Exception as error:  # its own kind, whatever the program did not find
            missing(f"Playwright does not start ({error}): apt-get install libatomic1")
        yield playwright
