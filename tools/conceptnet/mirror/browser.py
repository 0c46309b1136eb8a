"""Answers for people: the JSON of a page as HTML that can be read and clicked.

Promise: a browser sees every byte of the JSON, indented, with links to what the mirror can answer
and to other sites; nothing in it can run. Whoever does not prefer HTML gets the JSON untouched.
"""

from __future__ import annotations

import html
import re
from base64 import b64encode
from collections.abc import Mapping
from hashlib import sha256
from urllib.parse import quote

import orjson

from ...network.reply import HTML, JSON, Reply

_STYLE = (
    ":root{color-scheme:light dark}"
    "pre{font:14px/1.5 monospace;white-space:pre-wrap;overflow-wrap:anywhere;margin:1em}"
)
_HEADERS = {
    "Content-Security-Policy": "default-src 'none'; style-src 'sha256-"
    + b64encode(sha256(_STYLE.encode()).digest()).decode()
    + "'",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}
_QUALITY = re.compile(r"q\s*=\s*(\d(?:\.\d*)?)")
_LINE = re.compile(r' *"(?:@id|term|firstPage|nextPage|previousPage)": (".*"),?')
_LINKED = re.compile(r"/[acdrs]/.|/query\?|https?://", re.DOTALL)


def for_reader(answer: Reply, accept: str, query: Mapping[str, str]) -> Reply:
    """A browser is shown the JSON inside a web page."""
    if answer.content_type != JSON or not wants_html(accept, query):
        return answer
    text = orjson.dumps(orjson.loads(answer.body), option=orjson.OPT_INDENT_2).decode()
    page = (
        '<!DOCTYPE html>\n<html lang="en"><meta charset="utf-8"><title>ConceptNet API</title>\n'
        f"<style>{_STYLE}</style>\n<pre>{_linked(text)}</pre>\n"
    )
    return Reply(answer.status, page.encode(), HTML, {**answer.headers, **_HEADERS})


def wants_html(accept: str, query: Mapping[str, str]) -> bool:
    """Is this a browser? Whoever likes JSON as much as HTML gets JSON.

    >>> wants_html("text/html,application/xml;q=0.9,*/*;q=0.8", {}), wants_html("*/*", {})
    (True, False)
    """
    if query.get("format") in ("json", "html"):
        return query["format"] == "html"
    wishes = accept.lower()
    if "text/" not in wishes:
        return False
    as_json = max(_quality(wishes, JSON), _quality(wishes, "application/ld+json"))
    return _quality(wishes, "text/html") > as_json


def _linked(text: str) -> str:
    """
    >>> _linked('  "@id": "/c/en/<b>",')
    '  &quot;@id&quot;: <a href="/c/en/%3Cb%3E">&quot;/c/en/&lt;b&gt;&quot;</a>,'
    """
    return "\n".join(map(_linked_line, text.split("\n")))


def _linked_line(line: str) -> str:
    found = _LINE.fullmatch(line)
    if not found or not _LINKED.match(uri := orjson.loads(found[1])):
        return html.escape(line)
    before, after = (html.escape(part) for part in (line[: found.start(1)], line[found.end(1) :]))
    address = uri if uri.startswith("http") else quote(uri, safe="/?&=[],:;'()!*+~")
    return f'{before}<a href="{html.escape(address)}">{html.escape(found[1])}</a>{after}'


def _quality(accept: str, media_type: str) -> float:
    wishes = {}
    for wish in accept.split(","):
        name, _, parameters = wish.partition(";")
        quality = _QUALITY.search(parameters)
        wishes[name.strip()] = float(quality[1]) if quality else 1.0
    family = media_type.partition("/")[0] + "/*"
    return next((wishes[name] for name in (media_type, family, "*/*") if name in wishes), 0.0)
