"""Settings of the transport: nothing missing, nothing shown."""

from __future__ import annotations

import re

import pytest

from tests.support.toml import loaded, refusal, secret_file

pytestmark = pytest.mark.usefixtures("no_settings")


NODE = """[transport]
host = "node.example.org"
user = "sheaf-node"
key_file = "key"
known_hosts = "known_hosts"
folder = "/srv"
"""


def test_without_a_host_media_stay_here() -> None:
    assert loaded("").transport.host == ""
    assert refusal("[transport]\nuser = 'me'") == (
        "transport.host is missing: without it media stay here"
    )


HOURS = "transport.every_hours must be a whole number from 1 to 24, or 0.25 or 0.5"


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        ("port = 0", "transport.port must be more than 0"),
        ("volume_mb = 0", "transport.volume_mb must be more than 0"),
        *((f"every_hours = {hours}", HOURS) for hours in (25, 0, 1.5, 0.1)),
        ("connections = 0", "transport.connections must be more than 0"),
        ("receipt_s = -1", "transport.receipt_s must be 0 or more"),
        ("proxy = 'ftp://a:1'", "transport.proxy must be like"),
        ("proxy = 'https://a:1'", "transport.proxy must be like"),
        ("proxy = 'http://u:hunter2@a:1'", "a password stands in SHEAF_TRANSPORT_PROXY"),
        ("jump = 'host.example.org'", "transport.jump must be like user@host:port"),
        ("jump = 'me@host:port'", "transport.jump must be like user@host:port"),
        ("ssh = 'openssh'", "transport.ssh must be one of auto, program, paramiko"),
        ("ssh = 'program'\njump = 'me@host:22'", 'a jump host is for ssh = "auto" or "paramiko"'),
        ("ssh = 'program'\nproxy = 'http://a:1'", 'a proxy is for ssh = "auto" or "paramiko"'),
        ("secret = 'hunter2'", "unknown setting transport.secret; did you mean"),
        ("passphrase = 'hunter2'", "unknown setting transport.passphrase"),
        ("sender = 'Oak'", "transport.sender must be up to 32 of a-z, 0-9 and -"),
        ("sender = '../oak'", "transport.sender must be"),
        ("sender = '3f2a9c10-000001-5c1e'", "not begin like the name of a batch"),
        ("sender = 'deadbeef'", "not begin like the name of a batch"),
    ],
)
def test_a_wrong_transport_is_refused(line: str, sentence: str) -> None:
    said = refusal(NODE + line)
    assert sentence in said and "hunter2" not in said


@pytest.mark.parametrize("folder", ["/", "/srv", "/srv/"])
def test_a_sender_has_a_place_of_its_own_on_the_node(folder: str) -> None:
    alone = loaded(NODE.replace('"/srv"', f'"{folder}"')).transport
    oak = loaded(NODE.replace('"/srv"', f'"{folder}"') + "sender = 'oak'").transport
    assert alone.place("raw") == f"{folder.rstrip('/')}/raw"
    assert oak.place("raw") == f"{folder.rstrip('/')}/raw/oak"
    assert refusal("[transport]\nsender = 'oak'").startswith("transport.host is missing")


@pytest.mark.parametrize("name", ["user", "key_file", "known_hosts", "folder"])
def test_a_transport_that_lacks_something_is_refused(name: str) -> None:
    text = re.sub(rf"^{name} = .*$", "", NODE, flags=re.MULTILINE)
    assert refusal(text).startswith(f"transport.{name} is missing")


def test_a_transport_may_use_an_agent_instead_of_a_key() -> None:
    text = re.sub(r"^key_file = .*$", "agent = true", NODE, flags=re.MULTILINE)
    assert loaded(text).transport.agent


def test_secrets_of_the_transport_are_not_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHEAF_TRANSPORT_PASSPHRASE", "hunter1")
    monkeypatch.setenv("SHEAF_TRANSPORT_PROXY", "socks5h://me:hunter2@a:1080")
    monkeypatch.setenv("SHEAF_TRANSPORT_SECRET", "hunter3")
    transport = loaded(NODE).transport
    assert (transport.passphrase, transport.secret) == ("hunter1", "hunter3")
    assert transport.proxy_url == "socks5h://me:hunter2@a:1080"
    assert "hunter" not in repr(transport)


def test_a_secret_of_the_transport_from_a_file() -> None:
    secret_file("hunter3\n", name="transport-secret")
    assert loaded(NODE + "secret_file = 'transport-secret'").transport.secret == "hunter3"


@pytest.mark.parametrize(
    ("hours", "times"), [(3, "0 */3 * * *"), (24, "0 0 * * *"), (0.25, "*/15 * * * *")]
)
def test_shipping_is_on_the_hour(hours: float, times: str) -> None:
    assert loaded(NODE + f"every_hours = {hours}").transport.times == times
