"""What is sent with a request, down to its bytes: a form's fields or a JSON value.

Promise: the bytes are those a browser sends for the same fields.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote_plus

from ..documents.address import codec_of

Pairs = tuple[tuple[str, str], ...]
URLENCODED = "application/x-www-form-urlencoded"
MULTIPART = "multipart/form-data"
PLAIN = "text/plain"
ENCTYPES = (URLENCODED, MULTIPART, PLAIN)
LINE_END = re.compile(r"\r\n|\r|\n")
AS_IS = "*"  # with the letters, digits and -._ that quoting never touches
UNKNOWN = "xmlcharrefreplace"  # as browsers write what an encoding does not have


@dataclass(frozen=True, slots=True)
class Encoding:
    """How a form's fields become bytes; `files` are the fields that would hold a file."""

    charset: str = "utf-8"
    enctype: str = URLENCODED
    files: tuple[str, ...] = ()


USUAL = Encoding()


def pairs_of(payload: Mapping[str, Any] | Iterable[Iterable[Any]]) -> Pairs:
    """Fields in their order; a value that is a list is a field for each of it."""
    named = payload.items() if isinstance(payload, Mapping) else map(tuple, payload)
    return tuple(
        (str(name), _text(each))
        for name, value in named
        for each in (value if isinstance(value, list | tuple) else [value])
    )


def _text(value: Any) -> str:
    return value if isinstance(value, str) else "" if value is None else str(value)


def json_text(value: Any) -> str:
    """The same for equal values."""
    return json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"))


def query_of(pairs: Pairs, charset: str = "utf-8") -> str:
    """
    >>> query_of((("a b", "ä&"), ("c", "x\\ny")))
    'a+b=%C3%A4%26&c=x%0D%0Ay'
    """
    return "&".join(f"{_quoted(name, charset)}={_quoted(value, charset)}" for name, value in pairs)


def body_of(pairs: Pairs, encoding: Encoding = USUAL) -> tuple[str, bytes]:
    """The type and the bytes of a form that is sent by POST."""
    if encoding.enctype == MULTIPART:
        return _multipart(pairs, encoding)
    if encoding.enctype == PLAIN:
        lines = (f"{name}={_lines(value)}\r\n" for name, value in pairs)
        return PLAIN, _encoded("".join(lines), encoding.charset)
    return URLENCODED, query_of(pairs, encoding.charset).encode("ascii")


def _multipart(pairs: Pairs, encoding: Encoding) -> tuple[str, bytes]:
    """The mark between its parts hangs on them: the same form is sent as the same bytes."""
    parts = b"".join(_part(name, value, encoding) for name, value in pairs)
    mark = b"----sheaf" + hashlib.sha256(parts).hexdigest()[:32].encode()
    body = parts.replace(MARK, b"--" + mark) + b"--" + mark + b"--\r\n"
    return f"{MULTIPART}; boundary={mark.decode()}", body


MARK = b"\x00mark\x00"  # no name and no value has it: see _part


def _part(name: str, value: str, encoding: Encoding) -> bytes:
    escaped = LINE_END.sub("%0D%0A", name.replace('"', "%22"))
    head = f'Content-Disposition: form-data; name="{escaped}"'
    if name in encoding.files and not value:
        head += '; filename=""\r\nContent-Type: application/octet-stream'
    text = f"\r\n{head}\r\n\r\n{_lines(value)}\r\n".replace("\x00", "")
    return MARK + _encoded(text, encoding.charset)


def _quoted(text: str, charset: str) -> str:
    return quote_plus(_encoded(_lines(text), charset), safe=AS_IS).replace("~", "%7E")


def _lines(text: str) -> str:
    return LINE_END.sub("\r\n", text) if "\n" in text or "\r" in text else text


def _encoded(text: str, charset: str) -> bytes:
    codec = codec_of(charset)
    if codec is None:
        return text.encode("utf-8", "replace")
    if codec == "gbk":  # browsers have a byte for it that Python has not
        return b"\x80".join(part.encode(codec, UNKNOWN) for part in text.split("\u20ac"))
    return text.encode(codec, UNKNOWN)
