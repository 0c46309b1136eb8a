"""Queries to copy, about one concept: in SQL, Cypher and SPARQL.

Promise: whatever a name holds, it is a text in the query and nothing else.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ...exports.ntriples import iri as iri_of

LONGEST = 300


class ToCopy(NamedTuple):
    title: str
    sql: str
    cypher: str
    sparql: str


def queries(concept: str, name: str) -> Sequence[ToCopy]:
    sql, cypher = _sql(concept), _cypher(concept)
    sql_name, cypher_name = _sql(name[:LONGEST]), _cypher(name[:LONGEST])
    iri = iri_of(concept)
    return (
        ToCopy(
            "Everything that begins or ends here, the heaviest first",
            "SELECT type, start_uri, end_uri, weight FROM relation\n"
            f"WHERE start_uri = {sql} OR end_uri = {sql}\n"
            "ORDER BY weight DESC LIMIT 100;",
            f"MATCH (:Entity {{uri: {cypher}}})-[r]-(:Entity)\n"
            "RETURN DISTINCT type(r), startNode(r).uri, endNode(r).uri, r.weight\n"
            "ORDER BY r.weight DESC LIMIT 100;",
            "SELECT ?type ?other WHERE "
            f"{{ {{ {iri} ?type ?other }} UNION {{ ?other ?type {iri} }} }}\nLIMIT 100",
        ),
        ToCopy(
            "Its files, with licence and author",
            f"SELECT path, license, author, page FROM media WHERE owner = {sql};",
            f"MATCH (m:Media {{owner: {cypher}}})\nRETURN m.path, m.license, m.author, m.page;",
            f"SELECT ?file ?what ?value WHERE {{ {iri} ?shown ?file . ?file ?what ?value }}",
        ),
        ToCopy(
            "All concepts of this name",
            f"SELECT uri, language, sense FROM entity WHERE name = {sql_name};",
            f"MATCH (n:Entity {{name: {cypher_name}}}) RETURN n.uri, n.language, n.sense;",
            "",
        ),
        ToCopy(
            "What is two relations away",
            "SELECT DISTINCT b.end_uri FROM relation a JOIN relation b ON b.start_uri = a.end_uri\n"
            f"WHERE a.start_uri = {sql} AND b.end_uri <> {sql} LIMIT 100;",
            f"MATCH (:Entity {{uri: {cypher}}})-->()-->(n:Entity) WHERE n.uri <> {cypher}\n"
            "RETURN DISTINCT n.uri LIMIT 100;",
            f"SELECT DISTINCT ?far WHERE {{ {iri} ?a ?near . ?near ?b ?far }} LIMIT 100",
        ),
    )


def _sql(text: str) -> str:
    """
    >>> _sql("o'neil")
    "'o''neil'"
    """
    return "'" + text.replace("\0", "").replace("'", "''") + "'"


def _cypher(text: str) -> str:
    r"""
    >>> print(_cypher("o'neil\\"))
    'o\'neil\\'
    """
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"
