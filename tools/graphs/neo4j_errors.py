"""What Neo4j's driver raises, as what to do next.

Promise: a server that may come back is `Unavailable`; one that needs a human ends the harvest; what
one concept's records caused parks that concept only.
"""

from __future__ import annotations

from neo4j.exceptions import (
    AuthError,
    ConfigurationError,
    DriverError,
    Forbidden,
    ForbiddenOnReadOnlyDatabase,
    Neo4jError,
    TransientError,
)

from ..errors import (
    GiveUp,
    HarvestError,
    RetryLater,
    StopHarvest,
    Unavailable,
    Unreachable,
    UsageError,
)
from .neo4j_address import HINT, Address

REFUSED = (
    "Neo.ClientError.Security.Unauthorized",
    "Neo.ClientError.Security.AuthenticationRateLimit",
)
NO_DATABASE = "Neo.ClientError.Database.DatabaseNotFound"
READ_ONLY = "Neo.ClientError.General.WriteOnReadOnlyAccessDatabase"
BROKEN = "Neo.DatabaseError.Transaction."  # its disk is full, or it must be restarted
GOING_DOWN = (
    "Neo.ClientError.Transaction.Terminated",
    "Neo.ClientError.Transaction.LockClientStopped",
)
TOO_LONG = "Neo.ClientError.Transaction.TransactionTimedOut"  # by whose clock comes after it
TOO_LARGE = "Neo.TransientError.General.MemoryPoolOutOfMemoryError"


def root_of(error: BaseException) -> BaseException:
    """What everything else followed from; the driver wraps it several times."""
    while isinstance(error, DriverError | BaseExceptionGroup):
        inner = error.exceptions[0] if isinstance(error, BaseExceptionGroup) else error.__cause__
        if inner is None:
            break
        error = inner
    return error


def explained(error: Neo4jError | DriverError, address: Address) -> HarvestError:
    """What the driver raises, as what to do next."""
    code = getattr(error, "code", None) or ""
    root = root_of(error)
    said = " ".join(str(getattr(root, "message", None) or root).split())
    if isinstance(error, AuthError) or code in REFUSED:
        return Unreachable(f"{address} refuses the user {address.user!r}: {HINT}")
    if code == NO_DATABASE:
        return Unreachable(f"{address.server} has no database {address.database!r}: name another")
    if isinstance(error, ConfigurationError):
        return UsageError(f"the graph {address} cannot be used: {said}")
    if isinstance(error, Forbidden | ForbiddenOnReadOnlyDatabase) or code == READ_ONLY:
        return StopHarvest(f"{address} cannot be written ({said}): fix this, then start again")
    if code.startswith(BROKEN):
        return out_of_order(address, said)
    if code == TOO_LARGE:
        return RetryLater(f"{address} has too little memory for these records: {said}")
    if code.startswith(TOO_LONG):
        return Unavailable(f"the graph {address} did not answer in time")
    if isinstance(error, TransientError | DriverError) or code in GOING_DOWN:
        return Unavailable(f"the graph {address} cannot be reached: {said}")
    return GiveUp(f"{address} does not take these records: {said}")


def silent(address: Address) -> Unavailable:
    return Unavailable(f"the graph {address} cannot be reached: it says nothing")


def out_of_order(address: Address, said: str) -> StopHarvest:
    return StopHarvest(f"{address} is out of order ({said}): fix this, then start again")
