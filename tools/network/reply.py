"""What a server of ours sends back to a request, and how a request is read."""

from __future__ import annotations

import html
from collections.abc import Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any
from urllib.parse import parse_qsl, unquote

import orjson

JSON = "application/json"
HTML = "text/html; charset=utf-8"


@dataclass(frozen=True, slots=True)
class Reply:
    """All that goes back to the client, apart from the headers every answer has."""

    status: int
    body: bytes
    content_type: str = JSON
    headers: Mapping[str, str] = field(default_factory=dict)


def json_reply(content: Mapping[str, Any], status: int = 200) -> Reply:
    return Reply(status, orjson.dumps(content, option=orjson.OPT_SORT_KEYS))


def html_error(status: int, details: str, headers: Mapping[str, str] | None = None) -> Reply:
    title = HTTPStatus(status).phrase
    text = (
        '<!DOCTYPE HTML PUBLIC "-//W3C//DTD HTML 3.2 Final//EN">\n'
        f"<title>{status} {title}</title>\n<h1>{title}</h1>\n<p>{html.escape(details)}</p>\n"
    )
    return Reply(status, text.encode(), HTML, headers or {})


def parse_target(target: str) -> tuple[str, dict[str, str]]:
    """Path and parameters, decoded; the first of a repeated one wins.

    >>> parse_target("/c/en/caf%C3%A9?limit=3&limit=4")
    ('/c/en/café', {'limit': '3'})
    """
    path, _, query = target.partition("?")
    values: dict[str, str] = {}
    if query:
        for key, value in parse_qsl(query, keep_blank_values=True):
            values.setdefault(key, value)
    return unquote(path), values
