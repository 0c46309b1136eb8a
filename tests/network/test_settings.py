"""Proxies are settings and secrets at once."""

from __future__ import annotations

import pytest

from tests.support.toml import loaded, refusal, secret_file
from tools.network.settings import PROXIES_VARIABLE
from tools.settings import load

pytestmark = pytest.mark.usefixtures("no_settings")

PROXY = "socks5h://me:hunter2@10.0.0.1:1080"


def test_proxies_cannot_stand_in_the_settings_file() -> None:
    assert refusal(f'[proxy]\nurls = ["{PROXY}"]').startswith("unknown setting proxy.urls")


def test_proxies_come_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(PROXIES_VARIABLE, f" http://10.0.0.2:80 ,{PROXY}\n\n")
    assert load(None, {}).proxy.urls == ("http://10.0.0.2:80", PROXY)


def test_proxies_come_from_a_file_only_its_owner_can_read() -> None:
    file = secret_file(f"{PROXY}\n\nhttp://10.0.0.2:80\n")
    assert load(None, {"proxy": {"file": file}}).proxy.urls == (PROXY, "http://10.0.0.2:80")


def test_both_count(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(PROXIES_VARIABLE, "http://10.0.0.2:80")
    file = secret_file(PROXY)
    assert loaded(f'[proxy]\nfile = "{file}"').proxy.urls == ("http://10.0.0.2:80", PROXY)


@pytest.mark.parametrize("mode", [0o644, 0o640, 0o604, 0o660, 0o610])
def test_a_file_of_secrets_that_others_can_touch_is_refused(mode: int) -> None:
    file = secret_file(PROXY, mode)
    sentence = refusal(f'[proxy]\nfile = "{file}"')
    assert sentence == "proxies.txt holds secrets but others can read it: chmod 600 proxies.txt"


def test_a_file_of_secrets_that_is_missing_is_named() -> None:
    assert refusal('[proxy]\nfile = "gone"') == "cannot read gone: No such file or directory"


def test_a_file_of_secrets_that_is_no_text_is_named() -> None:
    file = secret_file("")
    file.write_bytes(b"http://me:\xff@10.0.0.1:80")
    assert refusal(f'[proxy]\nfile = "{file}"').startswith("cannot read proxies.txt: ")


@pytest.mark.parametrize(
    "proxy",
    [
        "10.0.0.1:1080",
        "ftp://me:hunter2@10.0.0.1",
        "http://",
        "http://me:hunter2@",
        "http://me:hunt#er2@10.0.0.1:80",
        "http://me:hunt/er2@10.0.0.1:80",
        "http://me:hunt?er2@10.0.0.1:80",
        "http://me:hunt[er2@10.0.0.1:80",
        "http://me:hunter2@10.0.0.1:port",
        "http://me:hunter2@10.0.0.1:99999",
    ],
)
def test_what_is_no_proxy_is_refused_without_showing_it(
    monkeypatch: pytest.MonkeyPatch, proxy: str
) -> None:
    monkeypatch.setenv(PROXIES_VARIABLE, f"http://10.0.0.2:80,{proxy}")
    sentence = refusal("")
    assert sentence.startswith("proxy number 2 must ")
    assert "hunt" not in sentence


def test_no_printed_setting_shows_a_password(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(PROXIES_VARIABLE, PROXY)
    settings = load(None, {})
    assert settings.proxy.urls == (PROXY,)
    assert "hunter2" not in f"{settings!r} {settings} {settings.proxy!r} {settings.proxy}"
