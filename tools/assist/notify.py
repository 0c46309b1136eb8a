"""Notices to whoever looks after the harvest, by mail, Telegram and whatever else apprise knows.

Promise: a notice never waits, and an address that hangs or fails costs the others nothing. No
address is ever logged, for it may be nothing but a secret; its number and its kind are.
"""

from __future__ import annotations

import logging
import re
import time
import warnings
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from queue import Empty, Full, Queue
from threading import Thread
from typing import TYPE_CHECKING, Literal, NamedTuple
from urllib.parse import unquote

from ..base.deadline import within
from ..errors import UsageError
from .settings import NoticeSettings

if TYPE_CHECKING:
    from apprise import Apprise, AppriseAsset, NotifyBase

logger = logging.getLogger(__name__)

Kind = Literal["progress", "transport", "source", "disk", "process", "ended"]

QUEUE_LENGTH = 100
TITLE_LENGTH, TEXT_LENGTH = 200, 1800  # what the narrowest of the usual services take
ON_THIS_COMPUTER = frozenset(
    ("dbus", "kde", "qt", "glib", "gio", "gnome", "macosx", "windows", "blink1")
)
"""Who shows something on a screen: with programs and libraries of a desktop, which are not ours."""

_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


class Notice(NamedTuple):
    title: str
    text: str


class Address:
    """Sends one notice at a time. Apprise would wait at exit for what hangs in its own threads."""

    def __init__(self, number: int, url: str, asset: AppriseAsset, timeout_s: float) -> None:
        from apprise import Apprise

        plugin = _plugin(number, url, asset)
        plugin.socket_connect_timeout = plugin.socket_read_timeout = timeout_s
        self.name = f"notice address {number} ({plugin.service_name})"
        self._url = url
        self._apprise: Apprise = Apprise(plugin, asset)
        self._thread: Thread | None = None

    def is_busy(self) -> bool:
        return self._thread is not None and self._thread.is_alive()

    def begin(self, notice: Notice) -> None:
        if self.is_busy():
            logger.warning("%s still hangs: %r is not sent", self.name, notice.title)
            return
        self._thread = Thread(target=self._send, args=(notice,), name=self.name, daemon=True)
        self._thread.start()

    def wait(self, deadline: float) -> None:
        if self._thread is not None:
            self._thread.join(max(0.0, deadline - time.monotonic()))

    def try_out(self, notice: Notice, timeout_s: float) -> str | None:
        """Why it could not be sent; None if it was."""
        try:
            return within(timeout_s, lambda: self._failure(notice))
        except TimeoutError:
            return f"no answer in {timeout_s:.0f} s"

    def _send(self, notice: Notice) -> None:
        if (reason := self._failure(notice)) is not None:
            logger.warning("%s: %r was not sent: %s", self.name, notice.title, reason)

    def _failure(self, notice: Notice) -> str | None:
        try:
            sent = self._apprise.notify(notice.text, notice.title, body_format="text")
            reasons = [] if sent else [entry.message for entry in sent.logs()] or ["no reason"]
        except Exception as error:  # it has a plugin for each of 150 services
            reasons = [repr(error)]
        return self._without_secrets("; ".join(reasons)) if reasons else None

    def _without_secrets(self, text: str) -> str:
        """No part of the address, written in either way."""
        whole = f"{self._url} {unquote(self._url)}".partition("://")[2]
        for part in sorted(set(re.split(r"[\s/:@?&=#,]+", whole)), key=len, reverse=True):
            text = text.replace(part, "...") if len(part) > 2 else text
        return text[:500]


class Notices:
    def __init__(self, settings: NoticeSettings) -> None:
        self._settings = settings
        self._addresses = _addresses(settings)
        self._queue: Queue[Notice | None] = Queue(QUEUE_LENGTH)
        self._thread = Thread(target=self._run, name="notices", daemon=True)
        self._is_open = bool(self._addresses)
        if self._is_open:
            self._thread.start()

    def report(self, kind: Kind, title: str, text: str) -> None:
        """From any thread."""
        if not self._is_open or not getattr(self._settings, kind):
            return
        notice = Notice(_clean(title, TITLE_LENGTH, " "), _clean(text, TEXT_LENGTH, "\n"))
        try:
            self._queue.put_nowait(notice)
        except Full:
            logger.warning("too many notices wait: %r is not sent", notice.title)

    def close(self, patience_s: float) -> None:
        """What is queued has so long."""
        if not self._is_open:
            return
        self._is_open = False
        deadline = time.monotonic() + patience_s
        with suppress(Full):
            self._queue.put(None, timeout=patience_s)
        self._thread.join(max(0.0, deadline - time.monotonic()))
        if self._thread.is_alive():
            logger.warning("not all notices could be sent in %.0f s", patience_s)
            self._forget()

    def _forget(self) -> None:
        """Those that wait: its thread ends with the one that it sends."""
        with suppress(Empty):
            while True:
                self._queue.get_nowait()
        self._queue.put_nowait(None)

    def _run(self) -> None:
        while (notice := self._queue.get()) is not None:
            try:
                self._send(notice)
            except Exception:
                logger.exception("the notice %r is not sent", notice.title)

    def _send(self, notice: Notice) -> None:
        """To all at once, so that the slow ones are waited for together."""
        deadline = time.monotonic() + self._settings.timeout_s
        idle = [address for address in self._addresses if not address.is_busy()]
        for address in self._addresses:
            address.begin(notice)
        for address in idle:
            address.wait(deadline)
            if address.is_busy():
                logger.warning("%s does not answer: %r is given up", address.name, notice.title)


def trials(settings: NoticeSettings) -> list[tuple[str, Callable[[], str | None]]]:
    """For each address its name, and a call that sends one notice and says why it could not."""
    notice = Notice("a trial", "This is how Sheaf will report how far it is.")
    return [
        (address.name, partial(address.try_out, notice, settings.timeout_s))
        for address in _addresses(settings)
    ]


def _addresses(settings: NoticeSettings) -> list[Address]:
    """Apprise is slow to import, and who has no addresses does without it."""
    if not settings.urls:
        return []
    _silence()
    numbered = enumerate(settings.urls, 1)
    with warnings.catch_warnings(action="ignore"):  # of what its plugins use and Python will drop
        return [Address(number, url, _asset(), settings.timeout_s) for number, url in numbered]


def _asset() -> AppriseAsset:
    from apprise import AppriseAsset

    return AppriseAsset(
        app_id="Sheaf",
        app_desc="Sheaf",
        async_mode=False,
        service_timeout=0,  # or it would use its own threads
        http_redirects=False,  # a notice that is redirected arrives empty
        interpret_emojis=False,
        storage_mode="memory",
        pgp_autogen=False,
        pem_autogen=False,
        language="en",
    )


def _silence() -> None:
    """Some of its lines hold whole addresses. The reasons of a failure are asked for instead."""
    log = logging.getLogger("apprise")
    log.propagate = False
    log.setLevel(logging.WARNING)
    log.addHandler(logging.NullHandler())


def _plugin(number: int, url: str, asset: AppriseAsset) -> NotifyBase:
    from apprise import Apprise

    is_remote = url.strip().partition("://")[0].lower() not in ON_THIS_COMPUTER
    try:
        plugin = Apprise.instantiate(url, asset) if is_remote else None
    except Exception:  # its text holds the secret
        plugin = None
    if plugin is None:
        raise UsageError(
            f"notice address {number} cannot be used: write it like mailto://user:password@host or "
            "tgram://token/chat, one on a line, with %XX for / @ : ? # & in a password; "
            "github.com/caronc/apprise has them all"
        ) from None
    return plugin


def _clean(text: str, length: int, newline: str) -> str:
    """From outside, perhaps: nothing that ends a line of a mail's head, nothing endless."""
    lines = (_CONTROL.sub(" ", line).rstrip() for line in text[: 2 * length].splitlines())
    whole = newline.join(lines).strip()
    return whole if len(whole) <= length else f"{whole[: length - 3]}..."
