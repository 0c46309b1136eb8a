"""How an edge is shown: the same JSON as from dictionaries, whatever its texts hold."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tools.conceptnet.dump.row import relation_of, row_of
from tools.conceptnet.dump.shown import Edge, is_below, line_of, relation_in

ODD = ("dog", 'a"b', "a\\b", "\\u0041", "a\x01\x1fb", "naïve_狗", "a\x7f\x85\u2028b", "_")
SOURCE = {"contributor": '/s/x"\\\t\n', "activity": "/s/é"}


def written(start: str, end: str, **texts: str) -> bytes:
    info: dict[str, Any] = {
        "dataset": '/d/"',
        "license": "cc\\",
        "sources": [SOURCE],
        "weight": 0.1,
    }
    columns = [f"/a/[/r/IsA/,{start}/,{end}/]", "/r/IsA", start, end]
    return "\t".join([*columns, json.dumps({**info, **texts}, ensure_ascii=False)]).encode()


def node(uri: str, surface: str | None) -> dict[str, str]:
    _, _, language, word, *sense = uri.split("/")
    label = word.replace("_", " ") if surface is None else surface
    shown = {"@id": uri, "@type": "Node", "label": label, "language": language}
    return {
        **shown,
        "term": f"/c/{language}/{word}",
        **({"sense_label": sense[0]} if sense else {}),
    }


@pytest.mark.parametrize("surface", [None, 'a "word"\\', "two\nlines\tand a tab", "\x00"])
@pytest.mark.parametrize("word", ODD)
def test_texts_are_escaped_as_json_wants(word: str, surface: str | None) -> None:
    start, end = f"/c/en/{word}", f"/c/fr/{word}/n"
    texts = {} if surface is None else dict.fromkeys(("surfaceText", "surfaceStart"), surface)
    line = line_of(row_of(written(start, end, **texts)))
    assert b"\n" not in line
    edge = Edge(*line.split(b"\t"))
    assert (edge.start.decode(), edge.end.decode()) == (start, end)
    said = json.loads(edge.shown)
    assert said == edge.said
    assert (said["@id"], said["weight"]) == (f"/a/[/r/IsA/,{start}/,{end}/]", 0.1)
    assert (said["dataset"], said["license"], said["surfaceText"]) == ('/d/"', "cc\\", surface)
    assert (said["start"], said["end"]) == (node(start, surface), node(end, None))
    assert said["sources"][0].items() >= SOURCE.items()
    assert list(said) == sorted(said)
    assert list(said["start"]) == sorted(said["start"])


@pytest.mark.parametrize("text", [{}, {"surfaceText": 'a "dog" is\ta\\pet'}])
def test_a_relation_is_the_one_that_the_line_says(text: dict[str, str]) -> None:
    row = row_of(written("/c/en/dog/n", "http://example.org/a?b=c", **text))
    assert relation_in(Edge(*line_of(row).split(b"\t"))) == relation_of(row)


def test_below_is_not_what_only_begins_alike() -> None:
    assert is_below(b"/c/en/dog", b"/c/en/dog")
    assert is_below(b"/c/en/dog", b"/c/en/dog/n")
    assert not is_below(b"/c/en/dog", b"/c/en/dogma")
    assert not is_below(b"/c/en/dog/n", b"/c/en/dog")
