"""Whatever anybody sends us, we connect to public addresses and to what the settings name."""

from __future__ import annotations

import errno
import socket
import ssl
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from threading import Event
from typing import Any
from urllib.parse import quote

import pytest

from tests.support.worlds.certificates import make_certificate
from tests.support.worlds.faults import FaultServer
from tests.support.worlds.proxies import HttpProxy, Socks5Proxy
from tools.errors import GiveUp, ServerTrouble, UsageError
from tools.network import client as http_module
from tools.network import guard
from tools.network.client import Client
from tools.network.guard import Address, is_public
from tools.network.request import Request, followed
from tools.network.settings import HttpSettings
from tools.network.trouble import NoUse
from tools.proxy import Proxies

PUBLIC, OTHER_PUBLIC, PRIVATE = "93.184.216.34", "2606:2800:220:1::1", "10.0.0.1"
NewClient = Callable[..., Client]

real_open_socket = guard.open_socket
real_getaddrinfo: Callable[..., Any] = socket.getaddrinfo


class Internet:
    """Names and addresses as a test wants them; every public address is one server of ours."""

    def __init__(self) -> None:
        self.names: dict[str, list[list[str]]] = {}  # what each lookup answers, the last for ever
        self.lookups: list[str] = []
        self.connected: list[str] = []
        self.dead: set[str] = set()
        self.port = 0

    def look_up(self, host: str, port: int, *rest: Any) -> list[Any]:
        if host not in self.names:
            return list(real_getaddrinfo(host, port, *rest[:2], flags=socket.AI_NUMERICHOST))
        self.lookups.append(host)
        answers = self.names[host]
        ips = answers.pop(0) if len(answers) > 1 else answers[0]
        return [found for ip in ips for found in real_getaddrinfo(ip, port, *rest)]

    def connect(self, address: Address, timeout: float, options: Any) -> socket.socket:
        self.connected.append(address.ip)
        if address.ip in self.dead:
            raise ConnectionRefusedError(errno.ECONNREFUSED, "nobody listens")
        there = Address(socket.AF_INET, ("127.0.0.1", self.port))
        return real_open_socket(there, timeout, options)


@pytest.fixture
def internet(monkeypatch: pytest.MonkeyPatch) -> Internet:
    internet = Internet()
    monkeypatch.setattr(socket, "getaddrinfo", internet.look_up)
    monkeypatch.setattr(guard, "open_socket", internet.connect)
    monkeypatch.setattr(guard, "allowed_gai_family", lambda: socket.AF_UNSPEC)
    monkeypatch.setattr(http_module, "FIRST_GAP_S", 0.001)
    return internet


@pytest.fixture
def server(internet: Internet) -> Iterator[FaultServer]:
    with FaultServer() as server:
        internet.port = server.port
        yield server


class AskingClient(Client):
    """Everything that may not be got may not be asked for either."""

    def get(self, url: str, accept: str, *args: Any, **how: Any) -> Any:
        headers = {"Accept": accept} | (how.get("headers") or {})
        return followed(self.ask, Request("GET", url, headers))


@pytest.fixture(params=[Client, AskingClient])
def new_client(request: pytest.FixtureRequest) -> Iterator[NewClient]:
    clients: list[Client] = []

    def make(
        *trusted: str, private_hosts: tuple[str, ...] = (), proxy: str = "", tries: int = 1
    ) -> Client:
        settings = HttpSettings(
            limits={}, tries=tries, answer_timeout_s=5.0, private_hosts=private_hosts
        )
        proxies = Proxies((proxy,)) if proxy else None
        clients.append(request.param(settings, proxies, Event(), trusted=trusted))
        return clients[-1]

    yield make
    for client in clients:
        client.close()


@contextmanager
def listening_everywhere() -> Iterator[socket.socket]:
    """On every address of this computer, at a port nobody else has."""
    family = socket.AF_INET6 if socket.has_dualstack_ipv6() else socket.AF_INET
    with socket.create_server(
        ("", 0), family=family, dualstack_ipv6=socket.has_dualstack_ipv6()
    ) as listener:
        listener.setblocking(False)
        yield listener


def connections(listener: socket.socket) -> int:
    count = 0
    while True:
        try:
            listener.accept()[0].close()
        except BlockingIOError:
            return count
        count += 1


def refused(because: str | None = None) -> AbstractContextManager[Any]:
    return pytest.raises(GiveUp, match=because)


HERE = [
    "127.0.0.1",
    "127.1",
    "127.255.255.254",
    "localhost",
    "LOCALHOST",
    "[::1]",
    "[0:0:0:0:0:0:0:1]",
    "[::ffff:127.0.0.1]",
    "[::ffff:7f00:1]",
    "[::]",
    "2130706433",
    "0x7f.1",
    "0x7f000001",
    "0177.0.0.1",
    "0.0.0.0",
    "0",
]
ELSEWHERE = [
    "169.254.169.254",
    "[::ffff:169.254.169.254]",
    "[fe80::1]",
    "[fd00:ec2::254]",
    "10.0.0.1",
    "172.16.0.1",
    "192.168.1.1",
    "100.64.0.1",
    "[64:ff9b::7f00:1]",
    "[64:ff9b::a00:1]",
    "[2002:7f00:1::]",
    "224.0.0.1",
    "255.255.255.255",
]


# ---- addresses


@pytest.fixture
def every_port_is_the_webs(monkeypatch: pytest.MonkeyPatch) -> None:
    """So that what refuses is the address."""
    monkeypatch.setattr(guard, "WEB_PORTS", range(1, 65536))
    monkeypatch.setattr(guard, "_host_in", guard._host_in.__wrapped__)  # remember none of it


@pytest.mark.usefixtures("every_port_is_the_webs")
@pytest.mark.parametrize("host", HERE)
def test_this_computer_is_not_asked(new_client: NewClient, host: str) -> None:
    with listening_everywhere() as listener:
        address = f"http://{host}:{listener.getsockname()[1]}/ok"
        with refused("private address"):
            new_client(tries=4).get(address, "*/*")
        assert connections(listener) == 0


@pytest.mark.usefixtures("every_port_is_the_webs")
@pytest.mark.parametrize("host", HERE)
def test_a_redirect_does_not_lead_to_this_computer(
    new_client: NewClient, server: FaultServer, internet: Internet, host: str
) -> None:
    internet.names = {"public.example": [[PUBLIC]], "localhost": [["127.0.0.1"]]}
    with listening_everywhere() as listener:
        target = quote(f"http://{host}:{listener.getsockname()[1]}/ok")
        with refused("private address"):
            new_client().get(f"http://public.example/redirect-to?url={target}", "*/*")
        assert connections(listener) == 0
    assert internet.connected == [PUBLIC]


def test_this_computer_could_be_asked(new_client: NewClient) -> None:
    """Otherwise the tests above could not fail."""
    with listening_everywhere() as listener:
        host = f"127.0.0.1:{listener.getsockname()[1]}"
        with pytest.raises(ServerTrouble):
            new_client(host).get(f"http://{host}/ok", "*/*", seconds=0.05)
        assert connections(listener) == 1


@pytest.mark.parametrize("host", ELSEWHERE)
def test_no_private_address_is_asked(
    new_client: NewClient, server: FaultServer, internet: Internet, host: str
) -> None:
    internet.names = {"public.example": [[PUBLIC]]}
    for address in (
        f"http://{host}/",
        f"https://{host}/",
        f"http://public.example/redirect-to?url={quote(f'https://{host}/')}",
    ):
        with refused("private address"):
            new_client().get(address, "*/*")
    assert internet.connected == [PUBLIC]


@pytest.mark.parametrize(
    ("ip", "public"),
    [
        ("93.184.216.34", True),
        ("2606:4700::1", True),
        ("::ffff:93.184.216.34", True),
        ("64:ff9b::5db8:d822", True),
        ("2002:5db8:d822::1", True),
        ("192.0.0.8", False),
        ("192.0.2.1", False),
        ("192.88.99.1", False),
        ("198.18.0.1", False),
        ("240.0.0.1", False),
        ("::", False),
        ("::7f00:1", False),
        ("64:ff9b:1::a00:1", False),
        ("2001::1", False),
        ("2001:db8::1", False),
        ("2002:a00:1::1", False),
        ("3fff::1", False),
        ("fc00::1", False),
        ("fe80::1%1", False),
        ("fec0::1", False),
        ("ff0e::1", False),
    ],
)
def test_what_is_public(ip: str, public: bool) -> None:
    assert is_public(ip) is public


def test_the_reason_says_where_a_name_leads(new_client: NewClient, internet: Internet) -> None:
    internet.names = {"example.org": [[PRIVATE]]}
    with refused(r"^example\.org leads to a private address \(10\.0\.0\.1\)$"):
        new_client().get("https://example.org/", "*/*")


# ---- names


def test_a_name_is_looked_up_once_and_that_address_is_used(
    new_client: NewClient, server: FaultServer, internet: Internet
) -> None:
    internet.names = {"rebinds.example": [[PUBLIC], [PRIVATE]]}
    client = new_client()
    for _ in range(3):
        assert client.get("http://rebinds.example/ok", "*/*").body == b"ok"
    assert (internet.lookups, internet.connected) == (["rebinds.example"], [PUBLIC])


def test_a_name_that_turns_private_is_not_asked_again(
    new_client: NewClient, server: FaultServer, internet: Internet
) -> None:
    internet.names = {"rebinds.example": [[PUBLIC], [PRIVATE]]}
    client = new_client()
    with pytest.raises(ServerTrouble):
        client.get("http://rebinds.example/reset", "*/*")
    with refused("private address"):
        client.get("http://rebinds.example/ok", "*/*")
    assert internet.connected == [PUBLIC]
    assert len(internet.lookups) == 2


def test_of_several_addresses_only_the_public_ones_are_used(
    new_client: NewClient, server: FaultServer, internet: Internet
) -> None:
    internet.names = {"mixed.example": [[PRIVATE, "::1", PUBLIC, "127.0.0.1"]]}
    assert new_client().get("http://mixed.example/ok", "*/*").body == b"ok"
    assert internet.connected == [PUBLIC]


def test_the_next_address_is_tried_when_one_refuses(
    new_client: NewClient, server: FaultServer, internet: Internet
) -> None:
    internet.names = {"two.example": [[OTHER_PUBLIC, PRIVATE, PUBLIC]]}
    internet.dead = {OTHER_PUBLIC}
    assert new_client().get("http://two.example/ok", "*/*").body == b"ok"
    assert internet.connected == [OTHER_PUBLIC, PUBLIC]


def test_nobody_there_is_trouble_not_the_end(
    new_client: NewClient, server: FaultServer, internet: Internet
) -> None:
    internet.names = {"dead.example": [[PUBLIC]]}
    internet.dead = {PUBLIC}
    with pytest.raises(ServerTrouble, match=r"dead\.example: .*ConnectionRefusedError"):
        new_client().get("http://dead.example/ok", "*/*")


def test_all_addresses_together_have_the_time_to_connect(monkeypatch: pytest.MonkeyPatch) -> None:
    given: list[float] = []

    def be_slow(address: Address, timeout: float, options: Any) -> socket.socket:
        given.append(timeout)
        raise TimeoutError

    monkeypatch.setattr(guard, "open_socket", be_slow)
    monkeypatch.setattr(time, "monotonic", lambda: 100.0 + sum(given))
    addresses = [Address(socket.AF_INET, (PUBLIC, 80))] * 4
    with pytest.raises(TimeoutError):
        guard.connect(addresses, 10.0, ())
    assert given == pytest.approx([2.5] * 4)


def test_a_name_nobody_knows_is_trouble(new_client: NewClient, internet: Internet) -> None:
    with pytest.raises((ServerTrouble, NoUse), match=r"unknown\.example: .*gaierror"):
        new_client().get("http://unknown.example/", "*/*")


@pytest.mark.parametrize("name", ["a..b", ".a", "a" * 64 + ".org", "*.org", "a b.org"])
@pytest.mark.parametrize("trusted", [False, True])
def test_what_is_no_name_is_no_web_address(
    new_client: NewClient, name: str, trusted: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(guard.Guard, "trusts", lambda *_: trusted)
    with refused("no web address"):
        new_client().get(f"http://{name}/", "*/*")


def test_nobody_is_misled_about_which_part_is_the_host(
    new_client: NewClient, server: FaultServer, internet: Internet
) -> None:
    internet.names = {"public.example": [[PUBLIC]]}
    for address in (
        "http://public.example\\@10.0.0.1/",
        "http://10.0.0.1\\@public.example/",
        "http://public.example@10.0.0.1/",
        "http://public.example:80@10.0.0.1/",
        "http://10.0.0.1\t@public.example\\/",
        "http://①②⑦.0.0.1/",
    ):
        with refused():
            new_client().get(address, "*/*")
    assert internet.connected == []


# ---- schemes and ports


@pytest.mark.parametrize("scheme", ["file", "ftp", "gopher", "data", "javascript"])
def test_only_the_web_is_asked(
    new_client: NewClient, server: FaultServer, internet: Internet, scheme: str
) -> None:
    internet.names = {"public.example": [[PUBLIC]]}
    target = f"{scheme}://public.example/ok"
    with refused("no web address"):
        new_client().get(target, "*/*")
    with refused("no web address"):
        new_client().get(f"http://public.example/redirect-to?url={quote(target)}", "*/*")
    assert internet.connected == [PUBLIC]


@pytest.mark.parametrize("port", [1, 22, 6379, 8080, 65535])
def test_only_ports_of_the_web_are_asked(
    new_client: NewClient, server: FaultServer, internet: Internet, port: int
) -> None:
    internet.names = {"public.example": [[PUBLIC]]}
    target = f"http://public.example:{port}/ok"
    with refused(rf"port {port}.*name public\.example:{port} in http\.private_hosts"):
        new_client().get(target, "*/*")
    with refused(f"port {port}"):
        new_client().get(f"http://public.example/redirect-to?url={quote(target)}", "*/*")
    assert (internet.connected, len(internet.lookups)) == ([PUBLIC], 1)


# ---- what the settings name


def test_what_the_settings_name_may_be_asked(new_client: NewClient, server: FaultServer) -> None:
    host = f"127.0.0.1:{server.port}"
    for client in (new_client(host), new_client(private_hosts=(host.upper(),))):
        assert client.get(f"http://{host}/ok", "*/*").body == b"ok"


def test_trust_is_for_one_port(new_client: NewClient, server: FaultServer) -> None:
    with listening_everywhere() as listener:
        port = listener.getsockname()[1]
        client = new_client(f"127.0.0.1:{server.port}", "127.0.0.1", "localhost")
        target = f"http://127.0.0.1:{port}/ok"
        for address in (target, f"{server.url}/redirect-to?url={quote(target)}"):
            with refused(f"port {port}"):
                client.get(address, "*/*")
        assert connections(listener) == 0


@pytest.mark.parametrize(
    "host", ["", "http://a.example", "a.example/x", "me@a.example", "a:b", "["]
)
def test_a_setting_that_is_no_host_is_refused(new_client: NewClient, host: str) -> None:
    with pytest.raises(UsageError, match="is no host"):
        new_client(private_hosts=(host,))


def test_who_may_not_be_asked_is_no_request_in_the_statistics(new_client: NewClient) -> None:
    client = new_client()
    with refused("private address"):
        client.get("http://10.0.0.1/", "*/*")
    assert client.traffic.requests == 0


# ---- TLS


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    return make_certificate(tmp_path_factory.mktemp("tls"), "DNS:pictures.example")


@pytest.fixture
def shown_names(
    certificate: tuple[Path, Path], internet: Internet, monkeypatch: pytest.MonkeyPatch
) -> Iterator[list[str | None]]:
    """The names that clients of a TLS server asked for."""
    names: list[str | None] = []
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*certificate)
    context.sni_callback = lambda _socket, name, _context: names.append(name)
    monkeypatch.setattr("requests.adapters.DEFAULT_CA_BUNDLE_PATH", str(certificate[0]))
    with FaultServer(context) as server:
        internet.port = server.port
        yield names


def test_the_name_is_what_tls_is_about(
    new_client: NewClient, internet: Internet, shown_names: list[str | None]
) -> None:
    internet.names = {"pictures.example": [[PUBLIC]]}
    assert new_client().get("https://pictures.example/ok", "*/*").body == b"ok"
    assert (shown_names, internet.connected) == (["pictures.example"], [PUBLIC])


def test_a_certificate_for_another_name_is_refused(
    new_client: NewClient, internet: Internet, shown_names: list[str | None]
) -> None:
    internet.names = {"other.example": [[PUBLIC]]}
    with pytest.raises((ServerTrouble, NoUse), match="CERTIFICATE_VERIFY_FAILED"):
        new_client().get("https://other.example/ok", "*/*")
    assert shown_names == ["other.example"]


# ---- through a proxy


@pytest.mark.parametrize(
    ("address", "because"),
    [
        ("http://10.0.0.1/", "private address"),
        ("https://127.0.0.1/", "private address"),
        ("http://2130706433/", "private address"),
        ("http://private.example/", "leads to a private address"),
        ("http://mixed.example/", "leads to a private address"),
        ("http://public.example:8080/", "port 8080"),
        ("http://unknown.example/", r"name unknown\.example in http\.private_hosts"),
        ("https://faß.example/", "private address"),
    ],
)
@pytest.mark.parametrize("kind", [HttpProxy, Socks5Proxy])
def test_a_proxy_is_not_asked_for_what_is_private(
    new_client: NewClient,
    internet: Internet,
    kind: type[HttpProxy] | type[Socks5Proxy],
    address: str,
    because: str,
) -> None:
    internet.names = {
        "private.example": [[PRIVATE]],
        "mixed.example": [[PUBLIC, PRIVATE]],
        "public.example": [[PUBLIC]],
        "fass.example": [[PUBLIC]],
        "xn--fa-hia.example": [[PRIVATE]],
    }
    with kind() as proxy, refused(because):
        new_client(proxy=proxy.url, tries=4).get(address, "*/*")
    assert proxy.asked == 0


def test_a_proxy_is_asked_for_what_is_public_or_named(
    new_client: NewClient, internet: Internet
) -> None:
    internet.names = {"public.example": [[PUBLIC]]}
    with HttpProxy(mode="own page") as proxy:
        client = new_client("10.0.0.1", "unknown.example:8080", proxy=proxy.url)
        for _ in range(3):
            client.get("http://public.example/", "*/*")
        client.get("http://10.0.0.1/", "*/*")
        client.get("http://unknown.example:8080/", "*/*")
    assert proxy.asked == 5
    assert internet.lookups == ["public.example"]


def test_without_names_for_a_moment_a_proxy_is_not_to_blame(
    new_client: NewClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: Any) -> None:
        raise socket.gaierror(socket.EAI_AGAIN, "Temporary failure in name resolution")

    with HttpProxy(mode="own page") as proxy:
        client = new_client(proxy=proxy.url)
        monkeypatch.setattr(guard, "_look_up", fail)
        for _ in range(2):
            with pytest.raises(ServerTrouble, match=r"http\.private_hosts"):
                client.get("http://public.example/", "*/*")
    assert proxy.asked == 0


class RecordingProxy(Socks5Proxy):
    """Leads to one server, whatever it is asked for."""

    def __init__(self, port: int) -> None:
        super().__init__()
        self.wanted: list[str] = []
        self._target = port

    @contextmanager
    def reach(self, host: str, port: int) -> Iterator[socket.socket]:
        self.wanted.append(host)
        with super().reach("127.0.0.1", self._target) as target:
            yield target


@pytest.mark.parametrize(("scheme", "wanted"), [("socks5", PUBLIC), ("socks5h", "rebinds.example")])
def test_a_socks_proxy_that_wants_an_address_gets_one_that_was_checked(
    new_client: NewClient, server: FaultServer, internet: Internet, scheme: str, wanted: str
) -> None:
    internet.names = {"rebinds.example": [[PUBLIC], [PUBLIC], [PRIVATE]]}
    with RecordingProxy(server.port) as proxy:
        client = new_client(proxy=f"{scheme}://127.0.0.1:{proxy.port}")
        assert client.get("http://rebinds.example/ok", "*/*").body == b"ok"
        client.close()
    assert proxy.wanted == [wanted]


def test_a_socks_proxy_gets_no_address_that_turned_private(
    new_client: NewClient, server: FaultServer, internet: Internet
) -> None:
    internet.names = {"rebinds.example": [[PUBLIC], [PRIVATE]]}
    with RecordingProxy(server.port) as proxy, refused("private address"):
        new_client(proxy=f"socks5://127.0.0.1:{proxy.port}").get("http://rebinds.example/", "*/*")
    assert proxy.wanted == []
