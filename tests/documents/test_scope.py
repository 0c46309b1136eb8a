"""What belongs to a crawl."""

from __future__ import annotations

import pytest

from tools.documents.scope import Scope
from tools.errors import UsageError

SEEDS = ["https://www.h.example/docs/index.html?x=/y/", "http://other.example:8080"]


@pytest.mark.parametrize(
    ("kind", "address", "expected"),
    [
        ("host", "http://www.h.example/", True),
        ("host", "http://h.example/", False),
        ("host", "http://other.example:8080/x", True),
        ("host", "http://other.example/x", False),
        ("domain", "http://h.example/", True),
        ("domain", "http://a.b.h.example:81/", True),
        ("domain", "http://h.example.org/", False),
        ("domain", "http://xh.example/", False),
        ("prefix", "http://www.h.example/docs/a/b", True),
        ("prefix", "http://www.h.example/docs/?y", True),
        ("prefix", "http://www.h.example/docs", False),
        ("prefix", "http://www.h.example/docs2/", False),
        ("prefix", "http://www.h.example/docs/../secret", False),
        ("prefix", "http://www.h.example.org/docs/", False),
        ("list", "https://www.h.example/docs/index.html?x=/y/", True),
        ("list", "http://www.h.example/docs/", False),
        ("any", "http://anybody.example/", True),
    ],
)
def test_a_kind_of_scope(kind: str, address: str, expected: bool) -> None:
    assert Scope.of(kind, SEEDS).allows(address) is expected


@pytest.mark.parametrize("kind", ["host", "domain", "prefix", "list"])
def test_include_adds_and_exclude_has_the_last_word(kind: str) -> None:
    scope = Scope.of(kind, SEEDS, include=["^https?://cdn[.]"], exclude=["[?&]print=", "/x$"])
    assert scope.allows("http://cdn.example/a")
    assert not scope.allows("http://cdn.example/a?print=1")
    assert not scope.allows("http://www.h.example/docs/x")
    assert not scope.allows("http://example.cdn/")


def test_a_host_joins_and_the_first_scope_stays_as_it_was() -> None:
    scope = Scope.of("host", ["https://h.example"])
    wider = scope.with_seed("https://www.h.example/")
    assert wider.allows("http://www.h.example/x") and wider.allows("http://h.example/x")
    assert not scope.allows("http://www.h.example/x")


def test_without_seeds_nothing_belongs() -> None:
    assert not Scope.of("prefix", []).allows("http://h.example/")
    assert not Scope.of("host", []).allows("http://h.example/")


def test_a_wrong_expression_is_named_by_its_place() -> None:
    with pytest.raises(UsageError, match=r"exclude, expression 2, '\(x' .* at position 0"):
        Scope.of("host", SEEDS, exclude=["x", "(x"])


def test_a_wrong_kind_is_told_with_those_there_are() -> None:
    with pytest.raises(UsageError, match="'site': choose one of host, domain"):
        Scope.of("site", SEEDS)
