"""The kinds of scopes. Alone here, so that settings need not load what reads addresses."""

from __future__ import annotations

from typing import Literal, get_args

Kind = Literal["host", "domain", "prefix", "list", "any"]
KINDS: tuple[str, ...] = get_args(Kind)
