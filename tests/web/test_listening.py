"""Where the page is served, and by which names it may be called."""

from __future__ import annotations

import http.client
import signal
import socket
import stat
from contextlib import closing
from pathlib import Path

import pytest

from tests.support.command import start_in
from tests.web.scene import PATIENCE_S
from tests.web.serving import address_in, serving
from tools.errors import UsageError
from tools.web.server import Listening

HERE = socket.gethostname().lower()


@pytest.mark.parametrize(
    ("listening", "port", "may", "may_not"),
    [
        (Listening(), 8085, ("127.0.0.1:8085", "localhost:8085", "[::1]:8085"), ("127.0.0.1",)),
        (Listening(), 80, ("127.0.0.1", "localhost", "localhost:80"), ("localhost:443",)),
        (Listening(host="fd00::7"), 8085, ("[fd00::7]:8085",), ("fd00::7:8085",)),
        (Listening(host="Box.Example"), 8085, ("box.example:8085",), ("box.example",)),
        (Listening(host="0.0.0.0"), 80, ("localhost", HERE), ("0.0.0.0", "0.0.0.0:80")),
        (Listening(host="::"), 80, ("[::1]",), ("[::]", "[::]:80", ":::80")),
        (
            Listening(public="https://Sheaf.Example"),
            8085,
            ("sheaf.example", "localhost:8085"),
            ("sheaf.example:80", "Sheaf.Example"),
        ),
        (
            Listening(public="https://sheaf.example:443/"),
            8085,
            ("sheaf.example", "sheaf.example:443"),
            ("sheaf.example:80",),
        ),
        (Listening(public="http://h:8443"), 8085, ("h:8443",), ("h", "h:80")),
        (Listening(socket_file=Path("page.sock")), 0, ("localhost",), ("localhost:0", "127.0.0.1")),
    ],
)
def test_names_that_a_host_header_may_say(
    listening: Listening, port: int, may: tuple[str, ...], may_not: tuple[str, ...]
) -> None:
    """As browsers write them: in small letters, and without the port that is meant anyhow."""
    names = listening.names(port)
    assert names >= {*may}
    assert names.isdisjoint(may_not)


def test_who_listens_everywhere_is_called_by_number(harvested: Path, tmp_path: Path) -> None:
    """And by the name it prints; by no other, which might be made to lead here."""
    flags = ("--state", harvested / "state", "--host", "0.0.0.0")
    with serving(tmp_path, *flags) as page:
        port = page.netloc.partition(":")[2]
        assert page.netloc == f"{socket.gethostname()}:{port}"
        page.netloc = f"127.0.0.1:{port}"
        for host, status in (
            (f"192.0.2.7:{port}", 200), (f"[fd00::7]:{port}", 200), (f"{HERE}:{port}", 200),
            ("192.0.2.7:1", 400), ("192.0.2.7", 400), (f"evil.example:{port}", 400),
        ):  # fmt: skip
            answer = page.ask("/api/status", Host=host, Authorization=f"Bearer {page.token}")
            assert (host, answer.status) == (host, status)


@pytest.mark.parametrize("sign", [signal.SIGTERM, signal.SIGINT])
def test_on_a_socket_file_that_goes_with_the_page(
    harvested: Path, tmp_path: Path, sign: signal.Signals
) -> None:
    place, state = tmp_path / "page.sock", harvested / "state"
    with start_in(tmp_path, "main.py", "serve", "--state", state, "--socket", place) as process:
        token = address_in(process).partition("token=")[2]
        assert stat.S_IMODE(place.stat().st_mode) == 0o600
        with closing(http.client.HTTPConnection("localhost", timeout=PATIENCE_S)) as asking:
            asking.sock = socket.socket(socket.AF_UNIX)
            asking.sock.settimeout(PATIENCE_S)
            asking.sock.connect(str(place))
            asking.request("GET", "/api/status", headers={"Authorization": f"Bearer {token}"})
            assert asking.getresponse().status == 200
        assert (state / "serve-token").exists()
        process.send_signal(sign)
        process.communicate(timeout=PATIENCE_S)
    assert not place.exists()
    assert not (state / "serve-token").exists()


def test_a_place_that_cannot_be_had_is_said(tmp_path: Path) -> None:
    far = tmp_path / ("x" * 200)
    with pytest.raises(UsageError, match=r"cannot be served at .*long.*choose another --socket"):
        Listening(socket_file=far).opened()
    with Listening(port=0).opened() as taken:
        port = taken.getsockname()[1]
        with pytest.raises(UsageError, match=f"{port} .*in use.*choose another --port"):
            Listening(port=port).opened()
