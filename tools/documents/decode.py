"""The text of an answer: by its first bytes, its headers, what it says of itself, how it looks.

Promise: the text is what a browser shows of the same bytes; what is no text of its encoding raises
RetryLater, because half an answer looks like that and a whole one may come.
Limit: a few stray bytes are replaced, as browsers do.
"""

from __future__ import annotations

import re
from typing import NamedTuple

import turbohtml
from turbohtml.detect import detect

from ..errors import RetryLater
from .html import CHARSET

XML_DECLARATION = re.compile(r"\s*<\?xml\b[^>]*?\?>", re.ASCII)
DECLARED = re.compile(rb"""\s*<\?xml\b[^>]{0,200}?encoding\s*=\s*["']([\w.:-]{1,40})["']""")
MARKS = {b"\xef\xbb\xbf": "UTF-8", b"\xff\xfe": "UTF-16LE", b"\xfe\xff": "UTF-16BE"}
SPOILT = "\ufffd"
MOST_SPOILT = 0.02  # of all characters


class Text(NamedTuple):
    text: str
    charset: str


def decoded(body: bytes, content_type: str | None, format: str = "html") -> Text:
    """
    >>> decoded("<p>\\u4e2d".encode("gbk"), "text/html; charset=gb2312")
    Text(text='<p>中', charset='GBK')
    """
    mark = next((mark for mark in MARKS if body.startswith(mark)), b"")
    charset = MARKS[mark] if mark else _declared(body, content_type, format)
    text = _decode(body[len(mark) :], charset)
    strays = text.count(SPOILT) if SPOILT in text else 0
    if strays > 1 + MOST_SPOILT * len(text):
        raise RetryLater(f"the answer is no text in {charset}")
    return Text(text, charset)


def without_declaration(text: str) -> str:
    """XML that was decoded already says nothing about its encoding any more."""
    found = XML_DECLARATION.match(text)
    return text[found.end() :] if found else text


def _declared(body: bytes, content_type: str | None, format: str) -> str:
    by_header = CHARSET.search(content_type or "")
    if by_header and (name := standard_name(by_header[1])):
        return name
    by_itself = DECLARED.match(body) if format == "xml" else None
    if by_itself and (name := standard_name(by_itself[1].decode())):
        return name
    if format == "html":
        return _looked_at(body)
    return "UTF-8" if _is_utf8(body) else _looked_at(body)


def _looked_at(body: bytes) -> str:
    return (detect(body).encoding or "UTF-8").removesuffix("-SIG")


def standard_name(label: str) -> str | None:
    """The encoding's name; None if no encoding is called like that."""
    try:
        return turbohtml.parse(b"", encoding=label).encoding
    except LookupError:
        return None


def _is_utf8(body: bytes) -> bool:
    try:
        body.decode()
    except UnicodeDecodeError:
        return False
    return True


def _decode(body: bytes, charset: str) -> str:
    if charset == "UTF-8":
        return body.decode("utf-8", "replace")
    return body.decode(f"whatwg-{charset.lower()}", "replace")
