"""What the documents show: their blocks of code, and the queries in these."""

from __future__ import annotations

import re
from typing import NamedTuple

from tests.support.command import ROOT

README = ROOT / "README.md"
QUERIES = ROOT / "docs/queries.md"
EXPORTS = ROOT / "docs/exports.md"
DOCUMENTS = (README, QUERIES, EXPORTS)


class Example(NamedTuple):
    title: str
    query: str


def blocks(language: str) -> list[str]:
    """The blocks of one language; those of commands name none."""
    texts = (document.read_text(encoding="utf-8") for document in DOCUMENTS)
    found = (re.findall(r"^```(\w*)\n(.*?)^```$", text, re.DOTALL | re.MULTILINE) for text in texts)
    return [block for each in found for name, block in each if name == language]


def examples(language: str) -> dict[str, Example]:
    """Every query by the remark above it. The same remark in two languages: the same answer."""
    queries = [query for block in blocks(language) for query in re.split(r";\n", block)]
    found = [example_of(query.strip()) for query in queries if query.strip()]
    assert len({each.title for each in found}) == len(found), "two queries have the same remark"
    return {each.title: each for each in found}


def example_of(text: str) -> Example:
    remark, query = text.split("\n", 1)
    mark, _, title = remark.partition(" ")
    assert mark in ("//", "--"), f"a query without a remark: {text}"
    return Example(title, query)


def commands() -> list[str]:
    lines = "".join(blocks("")).splitlines()
    return [line.partition("#")[0].strip() for line in lines if line.strip()]
