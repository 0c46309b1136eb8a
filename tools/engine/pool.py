"""One pool: the URIs that are in it now, and who holds them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .pools import Pools


class Pool(Mapping[str, str | None]):
    """Read like a dict. An `on_` pool maps a URI to the name of its holder, which is empty until
    somebody has begun it; the others map to None."""

    def __init__(self, pools: Pools, name: str) -> None:
        self._pools = pools
        self.name = name

    def __len__(self) -> int:
        return self._pools.count(self.name)

    def __contains__(self, uri: object) -> bool:
        return isinstance(uri, str) and self._pools.pool_of(uri) == self.name

    def __getitem__(self, uri: str) -> str | None:
        if uri not in self:
            raise KeyError(uri)
        return self._pools.holder_of(uri)

    def __iter__(self) -> Iterator[str]:
        return self._pools.uris(self.name)
