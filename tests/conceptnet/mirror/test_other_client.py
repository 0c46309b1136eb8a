"""A client that others wrote for ConceptNet's server, and that only needs the mirror's address."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count, takewhile
from typing import Any

import pytest
from conceptnet_client import api

from tools.conceptnet.index.build import index_of
from tools.conceptnet.mirror.mirror import Mirror
from tools.sample import world


@pytest.fixture(scope="module")
def client() -> Iterator[api.ConceptNetAPI]:
    with Mirror(index_of(world.lines())) as mirror, pytest.MonkeyPatch.context() as patch:
        patch.setattr(api, "BASE_URL", mirror.url)
        yield api.ConceptNetAPI()


def test_it_finds_edges_and_tells_of_each(client: api.ConceptNetAPI) -> None:
    found = client.lookup("dog", limit=5)
    assert len(found) == 5
    for edge in map(_told, found):
        assert "/c/en/dog" in (edge["start"]["term"], edge["end"]["term"])


def test_it_reads_all_pages_and_loses_nothing(client: api.ConceptNetAPI) -> None:
    offsets = count(0, 7)
    pages = (client.lookup("number", limit=7, offset=offset) for offset in offsets)
    edges = [_said(edge) for page in takewhile(len, pages) for edge in page]
    whole = [_said(edge) for edge in client.lookup("number", limit=1000)]
    assert edges[:1000] == whole
    assert len(edges) == len(set(edges)) > 1200


def test_it_normalises_its_terms_and_gets_nothing_for_a_missing_one(
    client: api.ConceptNetAPI,
) -> None:
    assert len(client.lookup("Guide Dog")) > 0
    assert len(client.lookup("zzzzqqqq")) == 0


def _told(edge: object) -> dict[str, Any]:
    return edge.to_dict()  # type: ignore[attr-defined,no-any-return]


def _said(edge: object) -> str:
    return str(sorted(_told(edge).items()))
