"""The files of the sample's providers: drawn when somebody asks, and sent as bad as they are.

Promise: a file has the same bytes in every run. What was drawn for a search is kept for a while, so
that fetching it costs nothing more.
"""

from __future__ import annotations

import html
import re
from functools import lru_cache
from hashlib import sha1
from typing import NamedTuple
from urllib.parse import quote

from ..network.reply import HTML, Reply, html_error
from . import drawing, voice
from .animation import ANIMATION, FRAME_MS, FRAMES, animation
from .offers import File, Offers, author_of, chosen, identity, licence_of

KINDS = {
    "jpg": "image",
    "png": "image",
    "webp": "image",
    "gif": "visual",
    "flac": "audio",
    "wav": "audio",
    "ogg": "audio",
    "mp3": "audio",
}
MIMES = {
    "jpg": "image/jpeg",
    "png": "image/png",
    "webp": "image/webp",
    "gif": "image/gif",
    "flac": "audio/flac",
    "wav": "audio/wav",
    "ogg": "application/ogg",
    "mp3": "audio/mpeg",
}
FORBIDDEN_PLACE = "http://169.254.169.254/latest/meta-data/"

_WIDE = (1280, 960)
_MOST_KEPT = 256
_NAME = re.compile(r"(.+)[ _](\d{1,3})\.([a-z0-9]{3,4})")
_NO_FILE = b"<!DOCTYPE html>\n<title>Sign in</title>\n<p>You must sign in to see this file.</p>\n"


class Content(NamedTuple):
    """A whole file, and what a provider says about it."""

    body: bytes
    size: tuple[int, int] | None = None
    seconds: float | None = None

    @property
    def sha1(self) -> str:
        return sha1(self.body, usedforsecurity=False).hexdigest()


class CutShort(Reply):
    """Ends in the middle, without a word about its length."""


@lru_cache(maxsize=_MOST_KEPT)
def content(file: File) -> Content:
    """The whole file as it is at its provider. A bad one pretends to be as others are."""
    if file.kind == "audio":
        sound = voice.played(file.text, file.look, file.extension)
        return Content(_NO_FILE if file.flaw == "html" else sound.content, seconds=sound.seconds)
    if file.kind == "visual":
        frames = 1 if file.flaw == "still" else FRAMES
        body = animation(file.text, file.look, frames)
        return Content(body, ANIMATION, seconds=FRAMES * FRAME_MS / 1000)
    return _picture(file)


def thumbnail(file: File, width: int) -> bytes:
    height = width * drawing.PICTURE[1] // drawing.PICTURE[0]
    return drawing.picture(file.text, file.look, file.extension, (width, height))


def sent(file: File) -> Reply:
    """What the server says when it is asked for the file."""
    mime, body = MIMES[file.extension], content(file).body
    if file.flaw == "missing":
        return html_error(404, "There is no such file.")
    if file.flaw == "redirect":
        return Reply(302, b"", mime, {"Location": FORBIDDEN_PLACE})
    if file.flaw == "cut":
        return CutShort(200, body[: len(body) * 6 // 10], mime)
    if file.flaw == "html":
        return Reply(200, body, chosen((HTML, mime), "content type", *file))
    headers = {"X-Robots-Tag": "noai, noimageai"} if file.flaw == "noai" else {}
    return Reply(200, b"" if file.flaw == "empty" else body, mime, headers)


def named(offers: Offers, provider: str, name: str) -> File | None:
    """The file of this name, if its provider offers it.

    >>> offers = Offers(["cat"], [])
    >>> cat = offers.files("commons", "image", "cat")[0]
    >>> named(offers, "commons", "Cat_1.jpg") == cat, named(offers, "commons", "Cat.jpg")
    (True, None)
    """
    parts = _NAME.fullmatch(name)
    if parts is None or parts[3] not in KINDS:
        return None
    text = parts[1].replace("_", " ").lower()
    files = offers.files(provider, KINDS[parts[3]], text)
    return next((each for each in files if each.name == f"{text} {parts[2]}.{parts[3]}"), None)


def path_of(file: File) -> str:
    """The file's name for an address.

    >>> path_of(File("commons", "image", "cat's cradle", 1, "jpg", ""))
    'Cat%27s_cradle_1.jpg'
    """
    return quote(title_of(file).replace(" ", "_"))


def title_of(file: File) -> str:
    return file.name[0].upper() + file.name[1:]


def landing_page(file: File, url: str) -> Reply:
    """What a person sees who looks up where a file is from."""
    title, author, licence = html.escape(title_of(file)), author_of(file), licence_of(file)
    element = "audio controls" if file.kind == "audio" else "img"
    text = (
        f"<!DOCTYPE html>\n<title>{title}</title>\n<h1>{title}</h1>\n"
        f'<p><{element} src="{url}"></p>\n'
        f'<p>By {author or "nobody knows whom"}, <a href="{licence.url}">{licence.code}'
        f" {licence.version}</a>.\nDrawn for the built-in sample; the author is invented.</p>\n"
    )
    return Reply(200, text.encode(), HTML)


def _picture(file: File) -> Content:
    if file.flaw == "html":
        return Content(_NO_FILE, drawing.PICTURE)
    if file.flaw == "bomb":
        return Content(drawing.bomb(), drawing.PICTURE)
    size = _WIDE if is_wide(file) else drawing.PICTURE
    body = drawing.picture(file.text, file.look, file.extension, size)
    if file.flaw == "near twin":
        return Content(drawing.worse_copy(body, file.extension), drawing.COPY)
    return Content(body, size)


def is_wide(file: File) -> bool:
    """A few are so large that a client takes the thumbnail; a twin is as large as the other."""
    is_whole = file.extension == "jpg" and file.flaw in ("", "twin")
    return is_whole and identity("wide", file.text, file.look) % 200 == 0
