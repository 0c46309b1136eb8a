"""Words and links of a page, counted a second time by other means: another parser, other loops."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator
from typing import Any

import html5lib
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.chance import any_seed
from tools.documents import html
from tools.documents.html import PIECE, read

UNREAD = {"script", "style", "template"}
SOUP = [
    *("<p>", "</p>", "<b>", "</b>", "<i x=1>", "</i>", "<div>", "</div>", "<table>", "</table>"),
    *("<tr>", "<td>", "</td>", "<ul>", "<li>", "</ul>", "<a href=x>", "<a href='y#z'>", "</a>"),
    *("<script>one two</script>", "<style>three</style>", "<noscript>", "</noscript>", "<br>"),
    *("<!-- four -->", "<!-->", "&amp;", "&eacute;t&eacute; ", "&#120;", "< ", "<", ">", "</body>"),
    *("</html>", "<h1>", "</h1>", "<form>", "</form>", "<textarea>", "</textarea>", "<hr>", "\n"),
    *(
        "Word ",
        "word ",
        "12 ",
        "c4 ",
        "caf\xe9 ",
        "_x ",
        "\u65e5\u672c ",
        "half",
        "-",
        "'s ",
        "\xa0",
    ),
]


def _strings(node: Any) -> Iterator[str]:
    """The texts under it, each by itself."""
    for child in node.childNodes:
        if child.nodeType == child.TEXT_NODE:
            yield child.data
        elif child.nodeName not in UNREAD:
            yield from _strings(child)


def counted(markup: str) -> tuple[dict[str, int], list[str]]:
    """Character by character, in the tree of a parser that shares no code with ours."""
    tree = html5lib.parse(markup, "dom")  # its other trees lose what stands before some tables
    tree.normalize()
    counts: Counter[str] = Counter()
    for string in _strings(tree.getElementsByTagName("body")[0]):
        word = ""
        for character in string + " ":
            if character.isalnum() or character == "_":
                word += character
            elif word:
                counts[word.lower()] += 1
                word = ""
    words = {word: count for word, count in counts.items() if not word.isdigit()}
    hrefs = [each.getAttribute("href") for each in tree.getElementsByTagName("a")]
    return words, list(dict.fromkeys(each.partition("#")[0] for each in hrefs if each))


def test_a_soup_of_tags_has_the_words_and_links_another_parser_finds() -> None:
    seed = any_seed()
    print("seed", seed)
    chance = random.Random(seed)
    for _ in range(150):
        markup = "<!doctype html>" + "".join(chance.choices(SOUP, k=chance.randrange(1, 60)))
        page = read(markup.encode(), "text/html; charset=utf-8", "http://h.example/")
        words, hrefs = counted(markup)
        assert page.words == words, markup
        found = [link.address for link in page.links]  # in another order, around some tables
        assert sorted(found) == sorted(f"http://h.example/{href}" for href in hrefs), markup


@pytest.mark.parametrize("filler", ["x", "\xe9", " "])
def test_a_long_text_is_counted_as_a_short_one(filler: str) -> None:
    chance = random.Random(5)
    tokens = [chance.choice(["Cat", "dog", "12", "c4", filler * 9]) for _ in range(PIECE // 3)]
    page = read(" ".join(tokens).encode(), "text/html; charset=utf-8", "http://h.example/")
    wanted = Counter(token.lower() for token in tokens if token.strip() and token != "12")
    assert page.words == wanted
    assert page.text_length > PIECE


def test_words_beyond_the_limit_are_left_out_and_the_rest_is_kept() -> None:
    text = "first " + " ".join(f"w{number}" for number in range(600_000))
    words = read(text.encode(), "text/html", "http://h.example/").words
    assert words["first"] == 1
    assert 200_000 < len(words) < 500_000


@given(st.text(alphabet="abX_9 .\xa0éßİıΣσςΑ'Ⅷ²٣你\u0301\ud800“—ſ", max_size=40))  # noqa: RUF001
def test_words_are_those_of_the_expression_in_lower_case(text: str) -> None:
    counts: Counter[str] = Counter()
    html._count(text, counts)
    assert counts == Counter(map(str.lower, html.WORD.findall(text)))
