"""A headless Chromium, driven through its debugging pipe: what a person would see of a page.

Every wait has a deadline. Where no browser can be had its tests are skipped, and fail under
CI=true.
"""

from __future__ import annotations

import base64
import fcntl
import io
import json
import os
import select
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from PIL import Image

NAMES = ("chromium", "chromium-browser", "google-chrome")
PATIENCE_S = 60.0
FLAGS = (
    "--headless=new",
    "--no-sandbox",  # as root in a container it does not start otherwise
    "--disable-dev-shm-usage",
    "--disable-gpu",
    "--disable-extensions",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-quic",
    "--mute-audio",
    "--no-first-run",
    "--hide-scrollbars",
    "--force-color-profile=srgb",
    "--remote-debugging-pipe",
)
# Kept by the page itself, from before its first element.
WITNESS = """window.violations = [];
document.addEventListener('securitypolicyviolation',
    each => violations.push(each.violatedDirective + ' ' + each.blockedURI));"""


class Browser:
    """One tab. `open` shows a page; `value` asks it; `picture` is what a person sees."""

    def __init__(self, process: subprocess.Popen[bytes], read: int, write: int) -> None:
        self._process, self._read, self._write = process, read, write
        self._number, self._buffer, self._session = 0, b"", ""
        self._events: list[dict[str, Any]] = []
        target = self._call("Target.createTarget", url="about:blank")["targetId"]
        attached = self._call("Target.attachToTarget", targetId=target, flatten=True)
        self._session = attached["sessionId"]
        for domain in ("Page", "Runtime", "Network", "Log"):
            self._call(f"{domain}.enable")
        self._call("Page.addScriptToEvaluateOnNewDocument", source=WITNESS)

    def open(self, page: Path, width: int = 1280, height: int = 800, dark: bool = False) -> None:
        self.look(width, height, dark)
        self._events.clear()
        self._call("Page.navigate", url=page.absolute().as_uri())
        self._wait_for("Page.loadEventFired")

    def visit(self, url: str) -> None:
        """A page that somebody serves."""
        self._events.clear()
        self._call("Page.navigate", url=url)
        self._wait_for("Page.loadEventFired")

    def submit(self, selector: str) -> None:
        """A form as it stands, by none of its buttons; on to the page it leads to."""
        self._events.clear()
        self.value(
            f"HTMLFormElement.prototype.submit.call(document.querySelector({json.dumps(selector)}))"
        )
        self._wait_for("Page.loadEventFired")

    def look(self, width: int, height: int = 800, dark: bool = False) -> None:
        """As in a window of this size, or on a telephone."""
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600}
        self._call("Emulation.setDeviceMetricsOverride", **size)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self._call("Emulation.setEmulatedMedia", features=[scheme])

    def value(self, script: str) -> Any:
        """Of an expression; of a promise, what comes of it."""
        answer = self._call(
            "Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True
        )
        assert "exceptionDetails" not in answer, answer["exceptionDetails"]
        return answer["result"].get("value")

    def click(self, selector: str) -> None:
        """With the mouse, and on to the page it leads to."""
        middle = f"""(() => {{
            const it = document.querySelector({json.dumps(selector)});
            it.scrollIntoView({{block: 'center', behavior: 'instant'}});
            const box = it.getBoundingClientRect();
            return [box.x + box.width / 2, box.y + box.height / 2];
        }})()"""
        x, y = self.value(middle)
        self._events.clear()
        for kind in ("mousePressed", "mouseReleased"):
            at = {"x": x, "y": y, "button": "left", "clickCount": 1}
            self._call("Input.dispatchMouseEvent", type=kind, **at)
        self._wait_for("Page.loadEventFired")

    def picture(self, whole: bool = False) -> Image.Image:
        """What the window shows; or the whole page, however long it is."""
        part: dict[str, Any] = {}
        if whole:
            size = self._call("Page.getLayoutMetrics")["cssContentSize"]
            part = {"clip": size | {"scale": 1}, "captureBeyondViewport": True}
        shot = self._call("Page.captureScreenshot", format="png", **part)
        return Image.open(io.BytesIO(base64.b64decode(shot["data"]))).convert("RGB")

    def requests(self) -> list[str]:
        """What the page asked for since it was opened, other than itself and what is inside it."""
        sent = [each for each in self._events if each["method"] == "Network.requestWillBeSent"]
        urls = [each["params"]["request"]["url"] for each in sent]
        return [url for url in urls if not url.startswith(("data:", "file:"))]

    def complaints(self) -> list[str]:
        """Of the browser about the page: errors, and what its policy forbade."""
        logged = [each["params"] for each in self._events if each["method"] == "Log.entryAdded"]
        errors = [
            str(each["entry"]["text"]) for each in logged if each["entry"]["level"] == "error"
        ]
        thrown = [each for each in self._events if each["method"] == "Runtime.exceptionThrown"]
        return [*errors, *map(str, thrown), *self.value("window.violations")]

    def _call(self, method: str, **params: Any) -> dict[str, Any]:
        self._number += 1
        message = {"id": self._number, "method": method, "params": params}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._write, json.dumps(message).encode() + b"\0")
        deadline = time.monotonic() + PATIENCE_S
        while (answer := self._next(deadline)).get("id") != self._number:
            self._events.append(answer)
        assert "error" not in answer, f"{method}: {answer['error']}"
        result: dict[str, Any] = answer["result"]
        return result

    def _wait_for(self, event: str) -> None:
        deadline = time.monotonic() + PATIENCE_S
        while all(each["method"] != event for each in self._events):
            self._events.append(self._next(deadline))

    def _next(self, deadline: float) -> dict[str, Any]:
        while b"\0" not in self._buffer:
            left = deadline - time.monotonic()
            ready, _, _ = select.select([self._read], [], [], max(0.0, left))
            assert ready, "the browser did not answer in time"
            chunk = os.read(self._read, 1 << 20)
            assert chunk, f"the browser ended with code {self._process.poll()}"
            self._buffer += chunk
        message, _, self._buffer = self._buffer.partition(b"\0")
        result: dict[str, Any] = json.loads(message)
        return result


@contextmanager
def browser() -> Iterator[Browser]:
    path = program()
    with (
        TemporaryDirectory(ignore_cleanup_errors=True) as profile,
        _running(path, profile) as started,
    ):
        yield started


def program() -> str:
    found = next(filter(None, map(shutil.which, NAMES)), "")
    if not found:
        give_up = pytest.fail if os.environ.get("CI") == "true" else pytest.skip
        give_up("no chromium on this computer: scripts/test-needs installs one")
    return found


@contextmanager
def _running(program: str, profile: str) -> Iterator[Browser]:
    """Bash, because a plain shell cannot name descriptors of two digits."""
    to_read, to_write = _pipe(), _pipe()
    descriptors = f'exec "$@" 3<&{to_read[0]} 4>&{to_write[1]}'
    with (Path(profile) / "stderr").open("wb") as errors:
        process = subprocess.Popen(
            ["bash", "-c", descriptors, "bash", program, *FLAGS, f"--user-data-dir={profile}"],
            pass_fds=(to_read[0], to_write[1]),
            stdin=subprocess.DEVNULL,
            stdout=errors,
            stderr=errors,
            start_new_session=True,
        )
    os.close(to_read[0])
    os.close(to_write[1])
    try:
        yield Browser(process, to_write[0], to_read[1])
    finally:
        os.close(to_read[1])  # it ends when nobody is left to steer it
        _end(process)
        os.close(to_write[0])


def _pipe() -> tuple[int, int]:
    """Numbers above 3 and 4, which the browser's own ends are to get."""
    low = os.pipe()
    high = [fcntl.fcntl(each, fcntl.F_DUPFD_CLOEXEC, 10) for each in low]
    for each in low:
        os.close(each)
    return high[0], high[1]


def _end(process: subprocess.Popen[bytes]) -> None:
    try:
        process.wait(PATIENCE_S / 4)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait(PATIENCE_S)
