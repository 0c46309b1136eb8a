"""Why the network had no answer: the words in which that is said of a host, and found again."""

from __future__ import annotations

from enum import StrEnum


class Why(StrEnum):
    REFUSED = "connection refused"
    RESET = "connection lost"
    SILENT = "no complete answer in time"
    NAME = "its name cannot be looked up now"
    UNREACHABLE = "no way to its address"
    TLS = "no secure connection"
    SHORT = "the answer is cut short"
    GARBLED = "the answer is no HTTP"
    PROXY = "the proxy does not work"
    UNKNOWN_NAME = "no such name"
    CERTIFICATE = "its certificate is not valid"
    LARGE = "the answer is too large"
    SPOILT = "the packed answer cannot be unpacked"

    @property
    def is_network(self) -> bool:
        """Does it say that the host, or our own line, is away?"""
        return self in NETWORK


NETWORK = frozenset({Why.REFUSED, Why.RESET, Why.SILENT, Why.NAME, Why.UNREACHABLE, Why.TLS})
