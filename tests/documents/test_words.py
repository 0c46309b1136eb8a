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


def _strings(element: Any) -> Iterator[str]:
    """The texts under an element, each by itself."""
    if isinstance(element.tag, str) and element.tag not in UNREAD:
        yield element.text or ""
        for child in element:
            yield from _strings(child)
            yield child.tail or ""


def counted(markup: str) -> tuple[dict[str, int], list[str]]:
    """Character by character, in the tree of a parser that shares no code with ours."""
    tree = html5lib.parse(markup, namespaceHTMLElements=False)
    counts: Counter[str] = Counter()
    for string in _strings(tree.find("body")):
        word = ""
        for character in string + " ":
            if character.isalnum() or character == "_":
                word += character
            elif word:
                counts[word.lower()] += 1
                word = ""
    words = {word: count for word, count in counts.items() if not word.isdigit()}
    hrefs = [each.get("href").partition("#")[0] for each in tree.iter("a") if each.get("href")]
    return words, list(dict.fromkeys(hrefs))


def test_a_soup_of_tags_has_the_words_and_links_another_parser_finds() -> None:
    seed = random.randrange(10**9)
    print("seed", seed)
    chance = random.Random(seed)
    for _ in range(150):
        markup = "<!doctype html>" + "".join(chance.choices(SOUP, k=chance.randrange(1, 60)))
        page = read(markup.encode(), "text/html; charset=utf-8", "http://h.example/")
        words, hrefs = counted(markup)
        assert page.words == words, markup
        assert [link.address for link in page.links] == [f"http://h.example/{h}" for h in hrefs]


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
