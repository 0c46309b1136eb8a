"""What each host is asked at most: a fact of a state, as its last run had it."""

from __future__ import annotations

import json
from collections.abc import Mapping

from .facts import ALLOWED, table_in


def allowed_fact(allowed: Mapping[str, str]) -> dict[str, str]:
    """In words; every other host as it is said for ""."""
    return {ALLOWED: json.dumps(allowed)}


def allowed_in(facts: Mapping[str, str]) -> Mapping[str, str]:
    """
    >>> allowed_in(allowed_fact({"a.org": "20/minute"})), allowed_in({"allowed": '{"a": 5}'})
    ({'a.org': '20/minute'}, {})
    """
    found = table_in(facts.get(ALLOWED, ""))
    return {host: said for host, said in found.items() if isinstance(said, str)}
