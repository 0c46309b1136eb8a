"""Notices, to real servers on loopback that take, refuse or ignore them."""

from __future__ import annotations

import inspect
import logging
import re
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from threading import Event, Thread
from typing import Any, get_args

import pytest

from tests.support.command import ROOT, clean_environment
from tests.support.ports import closed_port
from tests.support.worlds.mail import Hook, MailServer
from tools.assist.notify import ON_THIS_COMPUTER, QUEUE_LENGTH, TEXT_LENGTH, Kind, Notices
from tools.assist.settings import NoticeSettings
from tools.errors import UsageError

PATIENCE_S = 30.0
HOSTILE = "a\r\nBcc: thief@example.org\x00\x1b[31m\u2028\u202e\ud800 <b>&amp;</b> `x` $(id) ; #"


@pytest.fixture(autouse=True)
def _nobody_speaks_later() -> Iterator[None]:
    """An address that was given up says why when its server hangs up: not in the next test."""
    yield
    for name in ("notices", "notice address"):  # those that start others first
        for thread in threading.enumerate():
            if thread.name.startswith(name):
                thread.join(PATIENCE_S)
                assert not thread.is_alive()


@pytest.fixture
def hook() -> Iterator[Hook]:
    with Hook() as server:
        yield server


@pytest.fixture
def mail() -> Iterator[MailServer]:
    with MailServer() as server:
        yield server


def notices(*urls: str, timeout_s: float = PATIENCE_S, **kinds: bool) -> Notices:
    settings = NoticeSettings(urls=urls, timeout_s=timeout_s)
    return Notices(replace(settings, **kinds))  # type: ignore[arg-type]


def everything(hook: Hook) -> list[tuple[str, dict[str, Any]]]:
    """What has arrived: to which path, and what."""
    arrived = [hook.arrived.get_nowait() for _ in range(hook.arrived.qsize())]
    return [(request.path, notice) for request, notice in arrived]


def said(caplog: pytest.LogCaptureFixture) -> list[str]:
    """Pytest also listens where apprise's own lines end, which nobody else does."""
    return [each.getMessage() for each in caplog.records if each.name != "apprise"]


# ---- what arrives


def test_every_address_gets_a_notice(hook: Hook, mail: MailServer) -> None:
    told = notices(hook.address(), mail.address)
    told.report("disk", "the disk is nearly full", "900 MB are left\nof 40 GB")
    told.close(PATIENCE_S)
    notice, letter = hook.next(), mail.next()
    assert notice["title"] == letter["Subject"] == "the disk is nearly full"
    assert notice["message"] == "900 MB are left\nof 40 GB"
    assert letter.get_content().splitlines() == ["900 MB are left", "of 40 GB"]
    assert (letter["From"], letter["To"]) == ("sheaf@example.org", "owner@example.org")


@pytest.mark.parametrize("kind", get_args(Kind))
def test_a_kind_that_is_switched_off_is_not_sent(hook: Hook, kind: Kind) -> None:
    told = notices(hook.address(), **{kind: False})
    for each in get_args(Kind):
        told.report(each, each, "text")
    told.close(PATIENCE_S)
    titles = [hook.next()["title"] for _ in get_args(Kind)[1:]]
    assert titles == [each for each in get_args(Kind) if each != kind]
    assert hook.arrived.empty()


def test_hostile_text_stays_text(hook: Hook, mail: MailServer) -> None:
    told = notices(hook.address(), mail.address, mail.address + "&format=html")
    told.report("source", HOSTILE, HOSTILE)
    told.close(PATIENCE_S)
    notice, letters = hook.next(), [mail.next(), mail.next()]
    assert notice["title"] == "a Bcc: thief@example.org  [31m    <b>&amp;</b> `x` $(id) ; #"
    assert notice["message"].splitlines()[0] == "a"
    for letter in letters:
        assert letter["Bcc"] is None and "thief@example.org" in letter["Subject"]
    bodies = {each.get_content_type(): each for letter in letters for each in letter.walk()}
    assert "&lt;b&gt;&amp;amp;&lt;/b&gt;" in bodies["text/html"].get_content()


def test_a_long_text_is_cut(hook: Hook) -> None:
    told = notices(hook.address())
    told.report("source", "t" * 1_000_000, "x" * 10_000_000)
    told.close(PATIENCE_S)
    notice = hook.next()
    assert len(notice["title"]) == 200
    assert len(notice["message"]) == TEXT_LENGTH
    assert notice["message"].endswith("x...")


def test_an_escape_in_a_text_is_no_escape(hook: Hook) -> None:
    told = notices(hook.address())
    told.report("source", r"a\nb :smile:", r"C:\new ${HOME} {0} %s")
    told.close(PATIENCE_S)
    notice = hook.next()
    assert notice["title"] == r"a\nb :smile:"
    assert notice["message"] == r"C:\new ${HOME} {0} %s"


def test_any_thread_may_tell(hook: Hook) -> None:
    told = notices(hook.address())
    threads = [Thread(target=told.report, args=("source", f"{n}", "text")) for n in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE_S)
    told.close(PATIENCE_S)
    assert {hook.next()["title"] for _ in threads} == {f"{n}" for n in range(20)}


# ---- what does not


@pytest.mark.parametrize("fault", ["/hang", "/drip"])
def test_a_hanging_address_is_given_up_and_the_others_get_theirs(
    hook: Hook, caplog: pytest.LogCaptureFixture, fault: str
) -> None:
    told = notices(hook.address(fault), hook.address("/fine"), timeout_s=0.5)
    begun = time.monotonic()
    for title in ("first", "second", "third"):
        told.report("source", title, "text")
    told.close(PATIENCE_S)
    assert time.monotonic() - begun < PATIENCE_S
    fine = [notice["title"] for path, notice in everything(hook) if path == "/fine"]
    assert fine == ["first", "second", "third"]
    given_up = "notice address 1 (JSON) does not answer: 'first' is given up"
    timed_out = "notice address 1 (JSON): 'first' was not sent"  # both at the same moment
    assert any(each.startswith((given_up, timed_out)) for each in said(caplog))


def test_while_one_hangs_its_notices_are_forgotten(
    hook: Hook, caplog: pytest.LogCaptureFixture
) -> None:
    told = notices(hook.address("/drip"), hook.address("/fine"), timeout_s=0.3)
    told.report("source", "first", "text")
    told.report("source", "second", "text")
    told.close(PATIENCE_S)
    assert "address 1 (JSON) does not answer: 'first' is given up" in caplog.text
    assert "address 1 (JSON) still hangs: 'second' is not sent" in caplog.text
    titles = sorted(hook.next()["title"] for _ in range(3))
    assert titles == ["first", "first", "second"]


def test_a_mail_server_that_does_not_greet_is_given_up(
    hook: Hook, caplog: pytest.LogCaptureFixture
) -> None:
    with MailServer(greets=False) as silent:
        told = notices(silent.address, hook.address(), timeout_s=0.5)
        told.report("ended", "first", "text")
        told.report("ended", "second", "text")
        assert [hook.next()["title"] for _ in range(2)] == ["first", "second"]
        told.close(PATIENCE_S)
    assert "notice address 1 (E-Mail)" in caplog.text


@pytest.mark.parametrize(
    "url",
    ["json://u:s3cr3t-w0rd@127.0.0.1:{}/t0k3n", "mailto://u:s3cr3t-w0rd@127.0.0.1:{}?from=a@b.org"],
)
def test_a_closed_port_is_logged_once(
    hook: Hook, caplog: pytest.LogCaptureFixture, url: str
) -> None:
    told = notices(url.format(closed_port()), hook.address())
    told.report("ended", "the end", "text")
    told.close(PATIENCE_S)
    assert hook.next()["title"] == "the end"
    (line,) = said(caplog)
    assert line.startswith("notice address 1 (") and "'the end' was not sent: " in line
    assert not re.search("s3cr3t|t0k3n", line)


@pytest.mark.parametrize("answer", ["/no", "/moved"])
def test_an_answer_that_is_no_is_logged_with_its_reason(
    hook: Hook, caplog: pytest.LogCaptureFixture, answer: str
) -> None:
    told = notices(hook.address(answer))
    told.report("ended", "the end", "text")
    told.close(PATIENCE_S)
    (line,) = said(caplog)
    assert re.search(r"was not sent: .*error=(500|302)", line)
    assert hook.arrived.qsize() == 1  # and nobody was asked elsewhere


def test_telling_never_waits_and_what_finds_no_room_is_forgotten(
    hook: Hook, caplog: pytest.LogCaptureFixture
) -> None:
    told = notices(hook.address("/hang"))
    told.report("source", "the first", "text")
    hook.next()  # it hangs, the others wait
    begun = time.monotonic()
    for number in range(QUEUE_LENGTH + 3):
        told.report("source", f"number {number}", "text")
    assert time.monotonic() - begun < PATIENCE_S / 2
    lost = range(QUEUE_LENGTH, QUEUE_LENGTH + 3)
    assert said(caplog) == [f"too many notices wait: 'number {n}' is not sent" for n in lost]
    begun = time.monotonic()
    told.close(0.3)
    assert time.monotonic() - begun < PATIENCE_S / 2
    assert "not all notices could be sent" in caplog.text


def test_after_the_close_nothing_is_sent(hook: Hook) -> None:
    told = notices(hook.address())
    told.close(PATIENCE_S)
    told.report("ended", "too late", "text")
    told.close(PATIENCE_S)
    assert hook.arrived.empty()


# ---- addresses


@pytest.mark.parametrize(
    "address",
    [
        *("s3cr3t", "nonsense://s3cr3t", "mailto://", "json://", "://s3cr3t", "tgram://s3cr3t"),
        *("https://example.org/s3cr3t", "file:///etc/s3cr3t", "/etc/s3cr3t", "json://[s3cr3t"),
        *(f"{schema}://s3cr3t" for schema in sorted(ON_THIS_COMPUTER)),
        *("DBus://s3cr3t", " macosx://s3cr3t", "mailto://a:s3cr3t@h:99999999/?to=x"),
    ],
)
def test_a_wrong_address_is_refused_without_showing_it(
    address: str, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    with caplog.at_level(logging.DEBUG), pytest.raises(UsageError) as refused:
        notices("json://localhost/fine", address)
    sentence = str(refused.value)
    assert sentence.startswith("notice address 2 cannot be used: write it like mailto://")
    assert "s3cr3t" not in sentence + "".join(said(caplog)) + "".join(capfd.readouterr())
    assert refused.value.__cause__ is None


def plugins() -> Any:
    """Apprise's own register of them, once it is filled."""
    from apprise.manager_plugins import NotificationManager

    notices("json://localhost/").close(PATIENCE_S)
    return NotificationManager()  # type: ignore[no-untyped-call]


def test_no_accepted_address_can_start_a_program(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also with an apprise that is newer than this test."""
    manager = plugins()
    starts = re.compile(r"\b(subprocess|popen|ctypes|os\.(system|exec|spawn|fork))", re.IGNORECASE)
    found: set[str] = set()
    for plugin in manager.plugins():
        module = inspect.getmodule(plugin)
        assert module is not None
        if starts.search(inspect.getsource(module)):
            found |= plugin.schemas(plugin)
    assert "macosx" in found
    assert found <= ON_THIS_COMPUTER
    monkeypatch.setattr(manager["macosx"], "enabled", True)  # as on a Mac
    with pytest.raises(UsageError):
        notices("macosx://")


def test_no_code_is_loaded_from_elsewhere() -> None:
    manager = plugins()
    modules = [inspect.getmodule(plugin) for plugin in manager.plugins()]
    assert all(
        each is not None and each.__name__.startswith("apprise.plugins.") for each in modules
    )
    assert not manager._custom_module_map


# ---- processes


def process(code: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", code, *arguments],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=60,
        env=clean_environment(),
    )


TELL = """
import logging, sys
from tools.base import log
from tools.assist.notify import Notices
from tools.assist.settings import NoticeSettings
log.set_up(None, "debug", False, False)
told = Notices(NoticeSettings(urls=tuple(sys.argv[1:]), timeout_s=1))
told.report("ended", "the end", "of it")
told.close(3)
logging.info("closed")
"""


def test_no_secret_is_in_the_log_at_any_level(hook: Hook, mail: MailServer) -> None:
    hidden = ("s3cr", "secret-path", "harvester", "sw0rd")
    refused = f"json://user:p@sw0rd@127.0.0.1:{closed_port()}/secret-path"
    done = process(TELL, hook.address("/secret-path/no"), mail.address, refused)
    assert done.returncode == 0, done.stderr
    assert mail.next()["Subject"] == "the end"
    assert done.stderr.count("WARNING") == 2
    assert not [each for each in hidden if each in done.stderr + done.stdout]


def test_a_refused_address_is_not_in_the_log_either() -> None:
    done = process(TELL, "json://localhost/", "://s3cr3t/and-more", "s3cr3t")
    assert "UsageError: notice address 2 cannot be used" in done.stderr
    assert "s3cr3t" not in done.stderr


def test_a_process_ends_though_an_address_hangs(hook: Hook) -> None:
    begun = time.monotonic()
    done = process(TELL, hook.address("/drip"))
    assert done.returncode == 0, done.stderr
    assert "does not answer: 'the end' is given up" in done.stderr
    assert "closed" in done.stderr
    assert time.monotonic() - begun < 60


def test_without_addresses_apprise_is_not_imported_and_no_thread_runs() -> None:
    code = """
import sys, threading
from tools.assist.notify import Notices
from tools.assist.settings import NoticeSettings
told = Notices(NoticeSettings())
told.report("ended", "the end", "of it")
told.close(3)
assert "apprise" not in sys.modules
assert threading.active_count() == 1
"""
    done = process(code)
    assert done.returncode == 0, done.stderr


def test_a_plugin_that_breaks_is_a_failure_of_its_address_only(
    hook: Hook, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    told = notices("xml://user:s3cr3t@localhost/", hook.address())
    has_broken = Event()

    def broken(*_: object, **__: object) -> None:
        has_broken.set()
        raise LookupError("no s3cr3t\nhere")

    monkeypatch.setattr(told._addresses[0]._apprise, "notify", broken)
    told.report("ended", "the end", "text")
    told.close(PATIENCE_S)
    assert has_broken.is_set()
    assert hook.next()["title"] == "the end"
    (line,) = said(caplog)
    assert "LookupError" in line and "s3cr3t" not in line
