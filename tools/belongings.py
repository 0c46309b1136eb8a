"""Do graph and media folder belong to this harvest?

What is finished is not harvested again, so its records must be in the graph; and a harvest would
write over the media of another.
"""

from __future__ import annotations

import logging
import uuid

from tools.add import Graph
from tools.errors import StateDamaged, UsageError
from tools.graphs import is_same
from tools.ledger import Ledger
from tools.pools import Pools
from tools.settings import Settings

logger = logging.getLogger(__name__)


def check_graph(pools: Pools, graph: Graph, url: str) -> None:
    before = pools.remembered().get("graph", url)
    if not is_same(before, url):
        if pools.count("finished") and not graph.counts().entities:
            raise UsageError(
                f"this harvest went into {before} so far and {url} is empty: copy that first "
                f"(python main.py copy --from {before} --graph {url}), or begin anew with --fresh"
            )
        logger.warning("this harvest went into %s so far, from now on into %s", before, url)
    pools.remember({"graph": url})


def check_media(pools: Pools, ledger: Ledger, settings: Settings) -> None:
    """Afterwards the books hold what is finished, and nothing else."""
    harvest = pools.remembered().get("harvest") or uuid.uuid4().hex
    pools.remember({"harvest": harvest})
    if not ledger.claim(harvest):
        raise StateDamaged(
            f"{settings.media} holds the media of a harvest that {settings.state} knows nothing of:"
            f" give its --state, or another --media, or --fresh to set it aside"
        )
    ledger.tidy(lambda owner: pools.pool_of(owner) == "finished")
