"""Wishes to robots count if they are for all or for us."""

from __future__ import annotations

import pytest

from tools.documents.robots_tags import header_wishes, meta_wishes


@pytest.mark.parametrize(
    ("name", "content", "expected"),
    [
        ("robots", "noindex, NOFOLLOW", {"noindex", "nofollow"}),
        (" ROBOTS ", "none", {"noindex", "nofollow"}),
        ("sheaf", "noarchive", {"noarchive"}),
        ("robots", "noindex nofollow", {"noindex", "nofollow"}),
        ("robots", "max-snippet:-1, noarchive", {"max-snippet", "noarchive"}),
        ("robots", "all", {"all"}),
        ("robots", ",,", set()),
        ("otherbot", "noindex", set()),
        ("description", "nofollow", set()),
        ("", "nofollow", set()),
    ],
)
def test_meta_robots(name: str, content: str, expected: set[str]) -> None:
    assert meta_wishes(name, content) == expected


def test_every_header_counts_by_itself() -> None:
    headers = [
        ("X-Robots-Tag", "otherbot: noindex, noarchive"),
        ("x-robots-tag", "nofollow"),
        ("X-ROBOTS-TAG", "Sheaf: nosnippet"),
        ("Robots", "none"),
    ]
    assert header_wishes(headers) == {"nofollow", "nosnippet"}
    assert header_wishes([]) == frozenset()
