"""Who may look and who may change: asked as an attacker would, of a real server."""

from __future__ import annotations

import asyncio
import json
import socket
import sqlite3
import stat
from contextlib import ExitStack, closing, suppress
from pathlib import Path
from urllib.parse import quote

import pytest
from starlette.applications import Starlette
from uvicorn import Config
from uvicorn.server import ServerState

from tests.web.scene import PATIENCE_S, Served, copied, served, spoil, wait_for
from tests.web.serving import serving
from tools.journal.facts import EFFECTIVE
from tools.journal.snapshots import set_aside
from tools.web import app, patience


def cookie_of(page: Served) -> str:
    answer = page.ask(f"/?token={page.token}")
    assert answer.status == 303 and answer.headers["location"] == "/"
    return answer.headers["set-cookie"].partition(";")[0]


def change_of(page: Served, cookie: str) -> str:
    text = page.ask("/", Cookie=cookie).text
    return text.partition('"X-Sheaf-Token":"')[2].partition('"')[0]


def test_nobody_reads_without_the_token(page: Served) -> None:
    for path in ("/", "/api/status", "/metrics", "/file/x", "/live/overview", "/nothing"):
        assert page.ask(path).status == 403, path
        assert page.ask(path, Cookie="sheaf=1", Authorization="Bearer nonsense").status == 403
    assert page.ask("/?token=wrong").status == 403
    assert page.ask("/static/live.css").status == 200


def test_the_token_becomes_a_cookie_that_stays_at_home(page: Served) -> None:
    answer = page.ask(f"/log?level=error&token={page.token}")
    assert answer.headers["location"] == "/log?level=error"
    cookie = answer.headers["set-cookie"]
    assert "HttpOnly" in cookie and "SameSite=Strict" in cookie and page.token not in cookie
    assert page.ask("/", Cookie=cookie.partition(";")[0]).status == 200


@pytest.mark.parametrize(
    "other", ['a={"x": 1}', "a=x, y z", "nothing", "=1", "a:b=1", "path=/", 'a="', "caf\xe9=\xe9"]
)
def test_cookies_of_other_servers_lock_nobody_out(page: Served, other: str) -> None:
    """A browser sends those of every port of this computer."""
    cookie = cookie_of(page)
    for both in (f"{other}; {cookie}", f"{cookie}; {other}"):
        assert page.ask("/", Cookie=both).status == 200, both
    assert page.ask("/", Cookie=other).status == 403


def test_the_token_never_leads_elsewhere(page: Served) -> None:
    for path in ("//evil.example/", "/\\evil.example", "///evil.example/%2f.."):
        answer = page.ask(f"{path}?token={page.token}")
        assert not answer.headers.get("location", "/").startswith(("//", "/\\", "http"))


def test_another_host_is_refused(page: Served) -> None:
    for host in ("evil.example", "evil.example:80", "127.0.0.1", "", f"{page.netloc}.evil.example"):
        answer = page.ask("/", Host=host, Authorization=f"Bearer {page.token}")
        assert answer.status == 400, host


def test_a_change_needs_the_header_and_our_own_page(harvested: Path, tmp_path: Path) -> None:
    folder = copied(harvested, tmp_path)
    spoil(folder / "state", ("HTTP 404 for http://example.org/a",))
    with served(folder) as page:
        cookie = cookie_of(page)
        change = {"X_Sheaf_Token": change_of(page, cookie)}
        assert page.ask("/act/retry", "POST", Cookie=cookie).status == 403
        assert page.ask("/act/retry", "POST", Cookie=cookie, X_Sheaf_Token="0" * 64).status == 403
        for site in ("cross-site", "same-site", "none"):
            said = page.ask("/act/retry", "POST", Cookie=cookie, Sec_Fetch_Site=site, **change)
            assert said.status == 403
        assert page.ask("/act/retry", "POST", **change).status == 403  # without a cookie
        assert page.ask("/act/retry", Cookie=cookie, **change).status == 405
        assert len(page.get("/api/failed").json["groups"]) == 1
        said = page.ask("/act/retry", "POST", Cookie=cookie, **change)
        assert said.status == 200 and "1 go back to work" in said.text
        assert page.get("/api/failed").json["groups"] == []


def test_read_only_changes_nothing_and_shows_no_button(harvested: Path, tmp_path: Path) -> None:
    folder = copied(harvested, tmp_path)
    spoil(folder / "state", ("HTTP 404 for http://example.org/a",))
    with served(folder, is_read_only=True) as page:
        bearer = f"Bearer {page.token}"
        for name in ("pause", "resume", "stop", "retry"):
            assert page.ask(f"/act/{name}", "POST", Authorization=bearer).status == 403
        assert "<button" not in page.get("/failed").text
        assert "X-Sheaf-Token" not in page.get("/").text


def test_every_answer_has_the_rules_for_browsers(page: Served) -> None:
    for path in ("/", "/api/status", "/static/live.css", "/nothing", "/live/settings"):
        headers = page.get(path).headers
        assert "default-src 'none'" in headers["content-security-policy"], path
        assert "unsafe" not in headers["content-security-policy"]
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["referrer-policy"] == "no-referrer"
        assert headers["x-dns-prefetch-control"] == "off"
        assert headers["cross-origin-opener-policy"] == "same-origin"
        assert "server" not in headers


def test_no_path_leads_out_of_the_media(page: Served, harvested: Path) -> None:
    known = json.loads((harvested / "m" / "MEDIA.jsonl").read_text().splitlines()[0])
    found = page.get(f"/file/{quote(known['path'])}")
    assert found.status == 200 and len(found.body) == known["bytes"]
    assert found.headers["content-security-policy"].startswith("sandbox")
    ways = ("../state/pools.db", "..%2fstate%2fpools.db", "%2e%2e/state/log", "/etc/passwd")
    for way in (*ways, "HARVEST", "MEDIA.jsonl", f"./{quote(known['path'])}", "a%00b"):
        assert page.get(f"/file/{way}").status == 404, way
        assert page.get(f"/static/{way}").status == 404, way


def test_a_file_can_be_sought(page: Served, harvested: Path) -> None:
    lines = (harvested / "m" / "MEDIA.jsonl").read_text().splitlines()
    sound = next(each for each in map(json.loads, lines) if each["kind"] == "audio")
    bearer = f"Bearer {page.token}"
    part = page.ask(f"/file/{quote(sound['path'])}", Authorization=bearer, Range="bytes=10-19")
    assert part.status == 206 and len(part.body) == 10
    assert part.headers["content-type"] == sound["mime"]


def test_what_a_browser_has_it_is_not_sent_again(page: Served, harvested: Path) -> None:
    """But it asks: a file may be replaced under its name."""
    lines = (harvested / "m" / "MEDIA.jsonl").read_text().splitlines()
    picture = next(each for each in map(json.loads, lines) if each["kind"] == "image")
    bearer = f"Bearer {page.token}"
    for way in ("file", "thumb"):
        address = f"/{way}/{quote(picture['path'])}"
        mark = page.get(address).headers["etag"]
        assert mark == f'"{picture["sha256"]}"'
        again = page.ask(address, Authorization=bearer, If_None_Match=mark)
        assert (again.status, again.body, again.headers["etag"]) == (304, b"", mark)
        other = page.ask(address, Authorization=bearer, If_None_Match=f'"{"0" * 64}"')
        assert other.status == 200 and other.body
        assert page.ask(address, If_None_Match=mark).status == 403


def test_the_token_lies_in_a_file_of_its_owner_only(page: Served) -> None:
    file = page.state / "serve-token"
    assert file.read_text() == page.token
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


def test_a_harvest_begun_anew_leaves_the_token_in_its_place(
    harvested: Path, tmp_path: Path
) -> None:
    """A page that runs goes on, and so do the programs that find its token there."""
    state = copied(harvested, tmp_path) / "state"
    with served(tmp_path) as page:
        (state / "serve-token.part").touch()  # as of another that begins at this moment
        aside = set_aside(state)
        assert aside is not None and {each.name for each in aside.iterdir()} >= {"pools.db", "log"}
        assert (state / "serve-token").read_text() == page.token
        assert (state / "serve-token.part").exists()
    assert not (state / "serve-token").exists()
    assert not [*state.glob("aside-*/serve-token*")]


@pytest.mark.parametrize("is_first_to_end", [True, False])
def test_of_two_servers_the_last_one_owns_the_file(
    is_first_to_end: bool, harvested: Path, tmp_path: Path
) -> None:
    """Whoever ends takes away only its own token, and finds one of a server that was killed."""
    file = copied(harvested, tmp_path) / "state" / "serve-token"
    file.write_text("of one that was killed")
    with ExitStack() as first, ExitStack() as second:
        one = first.enter_context(served(tmp_path))
        assert file.read_text() == one.token
        other = second.enter_context(served(tmp_path))
        assert file.read_text() == other.token
        if is_first_to_end:
            first.close()
            assert file.read_text() == other.token and other.get("/api/status").status == 200
        else:
            second.close()
            assert not file.exists() and one.get("/api/status").status == 200
    assert not file.exists()


def test_a_page_is_served_where_no_token_can_be_written(
    harvested: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Of another user's harvest, for one."""
    folder = copied(harvested, tmp_path)
    (folder / "state" / "serve-token").unlink(missing_ok=True)
    (folder / "state" / "serve-token" / "in the way").mkdir(parents=True)
    with served(folder) as page:
        assert page.get("/").status == 200
    assert "serve-token cannot be written" in caplog.text


@pytest.mark.parametrize(
    "address",
    ["https://h/x?key=SECRETWORD", "http://me:p/SECRETWORD@h/", "neo4j://SECRETWORD@h",
     "http://me:p,SECRETWORD@h/", "http://me:p'SECRETWORD@h", 'http://me:"SECRETWORD"@h',
     "https://h/x?key=1,SECRETWORD", "https://h/x?key='SECRETWORD'&a=1"],
)  # fmt: skip
def test_a_secret_that_was_typed_is_not_shown(
    address: str, harvested: Path, tmp_path: Path
) -> None:
    folder = copied(harvested, tmp_path)
    with closing(sqlite3.connect(folder / "state" / "pools.db")) as db, db:
        for fact in ("command", "source"):
            db.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (fact, f"--source {address}"))
    with served(folder) as page:
        pages = ("/settings", "/", "/runs", "/api/settings", "/api/status", "/api/runs")
        for path in (*pages, "/api/history"):
            answer = page.get(path)
            assert answer.status == 200 and "SECRETWORD" not in answer.text, path
        assert "--source" in page.get("/api/settings").json["command"]


def test_no_secret_is_ever_shown(harvested: Path, tmp_path: Path) -> None:
    from dataclasses import replace

    from tools.graphs.settings import Neo4jSettings
    from tools.network.settings import ProxySettings

    proxies = ProxySettings(urls=("http://me:PROXYWORD@h:1",), ask="http://h/list?key=ASKWORD")
    neo4j = replace(Neo4jSettings(), password="GRAPHWORD")
    with closing(sqlite3.connect(copied(harvested, tmp_path) / "state" / "pools.db")) as db, db:
        db.execute("DELETE FROM meta WHERE key = ?", (EFFECTIVE,))  # else that of the harvest
    with served(tmp_path, proxy=proxies, neo4j=neo4j) as page:
        for path in ("/settings", "/api/settings", "/", "/api/history", "/runs"):
            text = page.get(path).text
            assert "WORD" not in text, path
        values = {each["name"]: each for each in page.get("/api/settings").json["values"]}
        assert values["proxy.urls"]["text"] == "set"
        assert values["neo4j.password"]["text"] == "set"
        assert values["notices.urls"]["text"] == "not set"
        assert values["attempts"]["origin"] == "default"


# --- many, slow, at once ---------------------------------------------------------------------


def connected(page: Served) -> socket.socket:
    host, _, port = page.netloc.partition(":")
    return socket.create_connection((host, int(port)), timeout=PATIENCE_S)


def question(page: Served, path: str) -> bytes:
    head = f"Host: {page.netloc}\r\nAuthorization: Bearer {page.token}\r\n"
    return f"GET {path} HTTP/1.1\r\n{head}\r\n".encode()


def stream(page: Served) -> socket.socket:
    made = connected(page)
    made.sendall(question(page, "/live/overview"))
    return made


def read_some(made: socket.socket, until: bytes) -> bytes:
    found = b""
    while until not in found:
        more = made.recv(65_536)
        assert more, found
        found += more
    return found


def test_twenty_streams_and_then_too_many(page: Served) -> None:
    with ExitStack() as stack:
        streams = [stack.enter_context(closing(stream(page))) for _ in range(20)]
        for each in streams:
            text = read_some(each, b'id="status"')
            assert b"200 OK" in text and b"text/event-stream" in text
        more = [stack.enter_context(closing(stream(page))) for _ in range(44)]
        for each in more:
            assert b"200 OK" in read_some(each, b"\r\n\r\n")
        with closing(stream(page)) as last:
            assert b"503" in read_some(last, b"\r\n\r\n")
        assert page.get("/").status == 200

    def again() -> bool:
        with closing(stream(page)) as made:
            return b"200 OK" in read_some(made, b"\r\n\r\n")

    wait_for(again)


def test_the_end_of_the_server_is_the_end_of_its_streams(harvested: Path) -> None:
    with served(harvested) as page:
        made = stream(page)
        read_some(made, b'id="status"')
    with closing(made):
        rest = b""
        while more := made.recv(65_536):
            rest += more
        assert rest.endswith(b"0\r\n\r\n")  # whole, not torn


def test_five_hundred_at_once_are_served(harvested: Path, tmp_path: Path) -> None:
    """All have asked before the first answer is read. It is served by a process of its own: many a
    system allows one 1,024 open files, and ours has the other ends."""
    with serving(copied(harvested, tmp_path)) as page, ExitStack() as stack:
        all_of_them = [stack.enter_context(closing(connected(page))) for _ in range(500)]
        for each in all_of_them:
            each.sendall(question(page, "/api/status"))
        firsts = [read_some(each, b"\r\n\r\n") for each in all_of_them]
        codes = [int(each.split()[1]) for each in firsts]
        assert {*codes} <= {200, 503} and codes.count(200) > 400
        assert page.get("/").status == 200


def test_a_client_that_never_ends_its_request_is_dropped(
    page: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(patience, "HEAD_S", 0.5)
    with closing(connected(page)) as slow:
        slow.sendall(b"GET / HTTP/1.1\r\nHost: ")
        wait_for(lambda: is_dropped(slow))
    with closing(connected(page)) as dripping:

        def drip() -> bool:
            with suppress(OSError):
                dripping.sendall(b"X")
            return is_dropped(dripping)

        wait_for(drip)


def test_a_client_that_takes_nothing_is_dropped(
    harvested: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And nobody else waits for it."""
    monkeypatch.setattr(patience, "TAKE_S", 0.5)
    with served(harvested) as page, ExitStack() as stack:
        lazy = []
        for _ in range(10):
            made = stack.enter_context(closing(socket.socket()))
            made.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            host, _, port = page.netloc.partition(":")
            made.settimeout(PATIENCE_S)
            made.connect((host, int(port)))
            made.sendall(question(page, "/static/vendor/cytoscape.min.js") * 20)
            lazy.append(made)
        assert page.get("/").status == 200
        wait_for(lambda: page.connections() == 0)
        for made in lazy:  # what they can still take is torn
            assert len(all_of(made)) < 20 * 400_000


def test_a_client_that_takes_slowly_is_waited_for() -> None:
    """As long as it takes something, also where the server itself gets rid of nothing meanwhile."""

    async def take_slowly() -> int:
        ours, theirs = socket.socketpair()
        theirs.setblocking(False)
        client = patience.Patience(Config(Starlette()), ServerState(), {})
        await client.loop.connect_accepted_socket(lambda: client, ours)
        client.transport.write(bytes(3_000_000))
        taken = 0
        while not client.transport.is_closing():
            if taken < 1_000_000:
                taken += len(await client.loop.sock_recv(theirs, 100_000))
            client._drop_unless_taking()  # as the timer does
            await asyncio.sleep(0)
        theirs.close()
        return taken

    assert asyncio.run(take_slowly()) >= 1_000_000


def all_of(made: socket.socket) -> bytes:
    found = b""
    with suppress(OSError):
        while more := made.recv(1_000_000):
            found += more
    return found


def is_dropped(made: socket.socket) -> bool:
    """By what the system says of it, without taking anything."""
    established = 1
    return made.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 1)[0] != established


def test_a_body_that_is_too_long_is_refused(page: Served) -> None:
    body = "reason=" + "x" * 100_000
    said = page.ask("/act/retry", "POST", body, Authorization=f"Bearer {page.token}")
    assert said.status == 413


def test_whoever_leaves_in_the_middle_is_no_mistake_of_ours(
    page: Served, caplog: pytest.LogCaptureFixture
) -> None:
    head = f"POST /act/retry HTTP/1.1\r\nHost: {page.netloc}\r\nContent-Length: 9999\r\n"
    with closing(connected(page)) as leaving:
        leaving.sendall(f"{head}Authorization: Bearer {page.token}\r\n\r\nabc".encode())
        leaving.shutdown(socket.SHUT_WR)
        assert all_of(leaving) == b""
    wait_for(lambda: page.connections() == 0)
    assert caplog.text == ""


def test_a_body_that_never_ends_is_not_waited_for(
    page: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever drips it is told, and dropped."""
    monkeypatch.setattr(app, "BODY_S", 0.3)
    monkeypatch.setattr(patience, "HEAD_S", 0.3)
    head = f"POST /act/retry HTTP/1.1\r\nHost: {page.netloc}\r\nContent-Length: 9999\r\n"
    with closing(connected(page)) as slow:
        slow.sendall(f"{head}Authorization: Bearer {page.token}\r\n\r\n".encode())

        def drip() -> bool:
            with suppress(OSError):
                slow.sendall(b"x")
            return is_dropped(slow)

        wait_for(drip)
        with suppress(ConnectionError):
            assert b" 408 " in slow.recv(1000)
