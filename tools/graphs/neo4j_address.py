"""Where a graph in Neo4j is: its server, its user, its database. Never its password."""

from __future__ import annotations

from typing import NamedTuple
from urllib.parse import unquote, urlsplit

from ..errors import UsageError

SCHEMES = ("neo4j", "neo4j+s", "neo4j+ssc", "bolt", "bolt+s", "bolt+ssc")
HINT = "its password comes from SHEAF_NEO4J_PASSWORD or from neo4j.password_file"


class Address(NamedTuple):
    server: str
    user: str
    database: str

    def __str__(self) -> str:
        return f"{self.server}/{self.database}"

    @classmethod
    def of(cls, url: str) -> Address:
        """
        >>> Address.of("neo4j+s://ada@graphs.example.org/words")
        Address(server='neo4j+s://graphs.example.org:7687', user='ada', database='words')
        """
        like = "write it like neo4j://user@host:7687/database"
        try:
            parts = urlsplit(url)
            host, port = parts.hostname, parts.port or 7687
        except ValueError:
            raise UsageError(f"the graph's address cannot be read: {like}") from None
        if parts.password is not None or "@" in parts.path + parts.query + parts.fragment:
            raise UsageError(f"a password does not belong in an address; {HINT}")
        if parts.scheme not in SCHEMES or not host or parts.query or parts.fragment:
            raise UsageError(f"the graph {url!r} is not known: {like}")
        shown = f"[{host}]" if ":" in host else host
        database = unquote(parts.path.strip("/")) or "neo4j"
        return cls(f"{parts.scheme}://{shown}:{port}", unquote(parts.username or "neo4j"), database)
