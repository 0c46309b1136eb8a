"""What a crawl has kept, for its user, when it has come to an end."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ..engine.job import Panel
from ..pages.table import PageTable

STATES = {0: "waiting", 1: "fetched", 2: "failed"}
MOST_HOSTS, MOST_WORDS, MOST_REASONS = 10, 20, 10


def panels(table: PageTable) -> Sequence[Panel]:
    counts = table.counts()
    hosts = [(host, number) for host, number in list(counts.domains.items())[:MOST_HOSTS]]
    words = [(word.word, word.count) for word in table.words(MOST_WORDS)]
    return (
        Panel("Pages", "table", [(STATES[key], n) for key, n in sorted(counts.states.items())]),
        Panel("Pages by depth", "bars", _rows(dict(sorted(counts.depths.items())))),
        Panel("Pages by host", "table", hosts),
        Panel("Pages by type", "table", _rows(counts.types)),
        Panel("Pages that failed", "table", _rows(counts.reasons)[:MOST_REASONS]),
        Panel("Words", "bars", words),
    )


def _rows(counts: Mapping[str, int] | Mapping[int, int]) -> list[tuple[str, int]]:
    return [(str(name), number) for name, number in counts.items()]
