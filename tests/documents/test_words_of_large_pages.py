"""A word does not depend on how large its page is."""

from __future__ import annotations

from tools.documents.html import read


def test_what_is_emphasized_is_a_word_of_its_own_in_large_pages_too() -> None:
    few = "<p>named <em>ensure</em>pip</p>"
    many = few + "<p><em>so</em> on</p>" * 3000
    small, large = (read(text.encode(), "text/html", "http://h.example/") for text in (few, many))
    assert set(large.words) - {"so", "on"} == set(small.words) == {"named", "ensure", "pip"}
