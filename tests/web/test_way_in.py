"""How a browser that the server starts gets in, and nobody else of the same computer does."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from queue import SimpleQueue
from threading import Event

import pytest

from tests.web.eyes import Eyes
from tests.web.scene import PATIENCE_S, Served, copied, served, wait_for
from tools.web import access
from tools.web.own_file import own_file

FILE = "serve-open.html"


@contextmanager
def opened(folder: Path) -> Iterator[tuple[Served, str]]:
    """A server, and what it starts a browser with."""
    shown: SimpleQueue[str] = SimpleQueue()
    with served(folder, show=shown.put) as page:
        yield page, shown.get(timeout=PATIENCE_S)


def way_in(file: Path) -> str:
    found = re.search(r'href="([^"]+)"', file.read_text())
    assert found is not None
    return found[1]


def test_a_browser_gets_in_by_a_file_of_its_owner(
    harvested: Path, tmp_path: Path, browser: Eyes
) -> None:
    """It keeps its cookie though a file led it here, which is another site to it."""
    file = copied(harvested, tmp_path) / "state" / FILE
    with opened(tmp_path) as (page, address):
        assert address == file.as_uri(), "every user of this computer sees it"
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
        assert page.token not in file.read_text()
        with browser.looking(address) as look:
            look.page.wait_for_url(f"{page.address}/")
            look.page.wait_for_selector("h1:has-text('Overview'), #live")
            look.page.goto(f"{page.address}/settings")
            assert "Settings" in look.page.inner_text("h1")
        wait_for(lambda: not file.exists())
        assert (file.parent / "serve-token").read_text() == page.token


def test_it_is_good_once(harvested: Path, tmp_path: Path) -> None:
    file = copied(harvested, tmp_path) / "state" / FILE
    with opened(tmp_path) as (page, _):
        path = way_in(file).removeprefix(page.address)
        first = page.ask(path)
        assert first.status == 200 and page.token not in first.text
        cookie = first.headers["set-cookie"].partition(";")[0]
        assert page.ask("/", Cookie=cookie).status == 200
        assert page.ask(path).status == 403
        wait_for(lambda: not file.exists())


def test_it_is_not_good_for_long(
    harvested: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    door = access.Access(frozenset())
    assert access.TICKET_S <= 30 and door.is_way_in(door.ticket())
    monkeypatch.setattr(access, "TICKET_S", 0.0)
    assert not door.is_way_in(door.ticket())
    file = copied(harvested, tmp_path) / "state" / FILE
    with opened(tmp_path) as (page, _):
        wait_for(lambda: not file.exists())
        assert page.get("/api/status").status == 200


def test_it_goes_with_the_server(harvested: Path, tmp_path: Path) -> None:
    file = copied(harvested, tmp_path) / "state" / FILE
    with opened(tmp_path):
        assert file.exists()
    assert not file.exists()


def test_where_it_cannot_be_written_the_printed_address_is_all(
    harvested: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (copied(harvested, tmp_path) / "state" / FILE / "in the way").mkdir(parents=True)
    shown: list[str] = []
    with served(tmp_path, show=shown.append) as page:
        wait_for(lambda: "open the printed address" in caplog.text)
        assert page.get("/api/status").status == 200
    assert shown == []


def test_who_shows_it_may_take_as_long_as_he_likes(harvested: Path, tmp_path: Path) -> None:
    """A browser in a terminal ends with its user, who is to see a page there."""
    copied(harvested, tmp_path)
    shown: SimpleQueue[str] = SimpleQueue()
    is_over = Event()

    def show(address: str) -> None:
        shown.put(address)
        is_over.wait()

    with ExitStack() as stack:
        page = stack.enter_context(served(tmp_path, show=show))
        stack.callback(is_over.set)
        assert shown.get(timeout=PATIENCE_S)
        assert page.get("/api/status").status == 200


@pytest.mark.parametrize("name", [lambda: FILE, lambda: f"{FILE}.{os.getpid()}.part"])
def test_no_link_is_followed(name: Callable[[], str], tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.write_text("mine")
    (tmp_path / name()).symlink_to(other)
    with own_file(tmp_path / FILE, "a secret") as trouble:
        assert not trouble and not (tmp_path / FILE).is_symlink()
        assert (tmp_path / FILE).read_text() == "a secret"
    assert other.read_text() == "mine"
    assert [*tmp_path.iterdir()] == [other]


def test_what_another_server_wrote_stays(tmp_path: Path) -> None:
    with own_file(tmp_path / FILE, "one"), own_file(tmp_path / FILE, "two"):
        pass
    with own_file(tmp_path / FILE, "one"):
        (tmp_path / FILE).write_bytes(b"\xff")
    assert (tmp_path / FILE).read_bytes() == b"\xff"
