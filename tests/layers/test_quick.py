from __future__ import annotations

from random import Random

import pytest
from lxml import etree
from parsel.csstranslator import HTMLTranslator

from tools.layers.page import Page
from tools.layers.quick import Quick
from tools.layers.selector import css_finder

SELECTORS = [
    *("::text", "::attr(x)", "b::text", "b::attr(x)", ".k::text", ".k::attr(class)", "b.k::text"),
    *("a.k-2::text", "B::attr(X)", "i._l::attr(x)", " b.k::text "),
]
LONG_WAY = [
    "b c::text",
    "b > i::text",
    "b.k.l::text",
    "b:first-child::text",
    "*::text",
    "b, i::text",
]
CLASSES = ["k", "k l", " k ", "l\tk", "l\nk m", "kk", "K", "k\u00a0l", "k\x0bl", "k-2", "_l", ""]


def random_page(chance: Random) -> str:
    parts = []
    for _ in range(chance.randrange(40)):
        tag = chance.choice(["b", "i", "a", "p", "div"])
        cls = f' class="{chance.choice(CLASSES)}"' if chance.random() < 0.6 else ""
        value = chance.choice(["", " ", "1", " 2 "])
        attribute = f' x="{value}"' if chance.random() < 0.5 else ""
        text = chance.choice(["", " ", "t", " t &amp; u ", "<!-- c -->", "<br>", "\n"])
        parts.append(f"<{tag}{cls}{attribute}>{text}")
        if chance.random() < 0.7:
            parts.append(f"</{tag}>{chance.choice(['', 'tail', ' '])}")
    return "".join(parts)


@pytest.mark.parametrize("css", SELECTORS)
def test_a_short_cut_finds_what_the_xpath_finds(css: str) -> None:
    find = css_finder(css)
    assert isinstance(find, Quick)
    slow = etree.XPath(HTMLTranslator().css_to_xpath(css), smart_strings=False)
    for seed in range(150):
        root = Page("http://h.example/", text="<body>" + random_page(Random(seed))).root
        for node in root.iter("*"):
            expected = [str(each) for each in slow(node)]
            assert list(find(node)) == expected, seed
            said = [each.strip() for each in expected if each.strip()]
            assert find.first(node) == (said[0] if said else None), seed


@pytest.mark.parametrize("css", LONG_WAY)
def test_other_selectors_take_the_long_way(css: str) -> None:
    assert not isinstance(css_finder(css), Quick)
