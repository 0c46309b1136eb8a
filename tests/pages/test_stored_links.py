"""Links come back from the table as they went in."""

from __future__ import annotations

import pytest

from tools.pages.page import Analysed, Link
from tools.pages.rows import analysed_row, read_links, special_links

X, Y = "h.example/x", "h.example/y"


@pytest.mark.parametrize("scheme", ["http", "https"])
@pytest.mark.parametrize(
    "links",
    [
        [],
        [(X, "a", False), (Y, "a", False)],
        [(X, "next", False), (Y, "a", True), (X, "a", False)],
        [(X, "a", True), (X, "iframe", False), (X, "refresh", False)],
    ],
)
def test_what_is_stored_is_read(links: list[tuple[str, str, bool]], scheme: str) -> None:
    """A page may be led to in several ways, and not all of them are followed."""
    given = [Link(url, f"{scheme}://{url}", kind, nofollow) for url, kind, nofollow in links]
    sub_urls = analysed_row(Analysed(url="h.example/", links=given))[3]
    assert sorted(read_links(sub_urls, special_links(given))) == sorted(given)
