"""A node that never comes back: what only it had is harvested again.

Promise: any step may be done twice; a crash amid this is made good by doing it again. First the
store knows the files no more, then their owners wait, then nobody asks the node for them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from ..errors import UsageError
from .pools import Pools
from .stage import Stage

Lost = Callable[[Sequence[str]], None]
"""Told of owners whose files are gone: the store holds no more of them."""


def forget_node(node: str, pools: Pools, stages: Iterable[Stage], lost: Lost) -> int:
    """How many owners wait again."""
    stage = next((stage for stage in stages if stage.folder is not None), None)
    if stage is None:
        raise UsageError("this harvest keeps no files: there is nothing to be had again")
    number = 0
    for owners in pools.custody.owners(node):
        lost(owners)
        number += pools.reopen_named(stage, owners)
        pools.custody.release(node, owners)
    pools.custody.forget(node)
    return number
