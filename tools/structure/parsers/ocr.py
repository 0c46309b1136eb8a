"""Scans: the words that tesseract reads in a picture or in the pages of a PDF, each with its place.

Promise: one thread of one processor; tesseract ends with the parser, or before its time is over.
Limit: languages that are installed. A picture is as tesseract takes it: PNG, JPEG, TIFF, BMP, GIF,
WebP.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from io import BytesIO
from typing import Any

from ...base.text import one_line
from ...errors import GiveUp
from .pdf import opened

LANGUAGE = re.compile(r"[A-Za-z0-9_/-]{1,40}")
WORD, PAGE = "5", "1"  # as tesseract numbers what a line is about
PART = 0.9  # of the time there is
LONGEST_S = 600.0
POINTS = 72  # in an inch


class RawParser:
    """`languages` as tesseract calls them, such as `["eng", "deu"]`; `dpi` for pages of a PDF."""

    def __init__(self, languages: Sequence[str] = ("eng",), dpi: int = 300) -> None:
        if isinstance(languages, str):
            languages = languages.split("+")
        if not languages or not all(LANGUAGE.fullmatch(str(each)) for each in languages):
            raise ValueError(f'languages must be like ["eng", "deu"], not {languages!r}')
        if type(dpi) is not int or not 50 <= dpi <= 1200:
            raise ValueError(f"dpi must be from 50 to 1,200, not {dpi!r}")
        self._languages = "+".join(languages)
        self._dpi = dpi
        self._program = shutil.which("tesseract") or ""

    def parse(self, raw: bytes, about: Mapping[str, Any]) -> dict[str, Any]:
        if not raw:
            raise GiveUp("empty")
        if not self._program:
            raise GiveUp("tesseract is not installed: apt install tesseract-ocr")
        until = time.monotonic() + PART * float(about.get("seconds", LONGEST_S))
        pages: list[dict[str, Any]] = []
        for picture in self._pictures(raw):
            for page in _pages_in(self._read(picture, until)):
                pages.append({"page": len(pages) + 1, **page})
        return {"text": "\n\n".join(page["text"] for page in pages).strip(), "pages": pages}

    def _pictures(self, raw: bytes) -> Iterator[bytes]:
        if b"%PDF" not in raw[:1024]:
            yield raw
            return
        for page in opened(raw):
            drawn = BytesIO()
            page.render(scale=self._dpi / POINTS, grayscale=True).to_pil().save(drawn, "PPM")
            yield drawn.getvalue()

    def _read(self, picture: bytes, until: float) -> str:
        left = until - time.monotonic()
        try:
            ended = subprocess.run(  # noqa: S603
                [self._program, "stdin", "stdout", "-l", self._languages, "tsv"],
                input=picture,
                capture_output=True,
                timeout=max(left, 0.01),
                env={**os.environ, "OMP_THREAD_LIMIT": "1"},
                check=False,
            )
        except subprocess.TimeoutExpired:
            raise GiveUp("tesseract was not done in time: give it more, or fewer pages") from None
        if ended.returncode:
            raise GiveUp(self._why(ended.stderr.decode(errors="replace"), ended.returncode))
        return ended.stdout.decode("utf-8", "replace")

    def _why(self, said: str, code: int) -> str:
        if "language" in said or "traineddata" in said:
            package = f"tesseract-ocr-{self._languages.split('+')[-1].replace('_', '-')}"
            return f"tesseract lacks a language of {self._languages}: apt install {package}"
        if "cannot be read" in said or "not supported" in said or "pixRead" in said:
            return "this is no picture that tesseract can read"
        lines = said.strip().splitlines() or [f"exit code {code}"]
        return f"tesseract failed ({one_line(lines[-1])[:200]})"


def _pages_in(table: str) -> Iterator[dict[str, Any]]:
    """A TIFF may have several."""
    page: dict[str, Any] | None = None
    lines: dict[tuple[str, ...], list[str]] = {}
    for line in table.splitlines()[1:]:
        cells = line.split("\t", 11)
        if len(cells) < 12:
            continue
        left, top, width, height = map(int, cells[6:10])
        if cells[0] == PAGE:
            if page is not None:
                yield {**page, "text": _text(lines)}
            page, lines = {"width": width, "height": height, "words": []}, {}
        elif cells[0] == WORD and page is not None and (word := cells[11].strip()):
            place = {"left": left, "top": top, "width": width, "height": height}
            page["words"].append({"text": word, **place, "confidence": round(float(cells[10]), 1)})
            lines.setdefault(tuple(cells[2:5]), []).append(word)
    if page is not None:
        yield {**page, "text": _text(lines)}


def _text(lines: Mapping[tuple[str, ...], list[str]]) -> str:
    """A blank line between paragraphs."""
    text, before = "", None
    for place, words in lines.items():
        if before is not None:
            text += "\n" if place[:2] == before else "\n\n"
        text, before = text + " ".join(words), place[:2]
    return text
