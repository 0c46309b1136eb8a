"""Queries to copy, in SQL, Cypher and SPARQL: about one concept, and those of the README and of
`docs/queries.md` with its name in them.

Promise: whatever a name holds, it is a text in the query and nothing else.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from string import Template
from typing import NamedTuple

from ...exports.ntriples import iri as iri_of

LONGEST = 300


class ToCopy(NamedTuple):
    """Empty where it cannot be asked in a language."""

    title: str
    sql: str
    cypher: str
    sparql: str = ""


# `$uri`, `$name` and `$other` stand for texts of the language, with what they are in.
ABOUT = (
    ToCopy(
        "Everything that begins or ends here, the heaviest first",
        """SELECT type, start_uri, end_uri, weight FROM relation
WHERE start_uri = $uri OR end_uri = $uri
ORDER BY weight DESC LIMIT 100;""",
        """MATCH (:Entity {uri: $uri})-[r]-(:Entity)
RETURN DISTINCT type(r), startNode(r).uri, endNode(r).uri, r.weight
ORDER BY r.weight DESC LIMIT 100;""",
        """SELECT ?type ?other WHERE { { $uri ?type ?other } UNION { ?other ?type $uri } }
LIMIT 100""",
    ),
    ToCopy(
        "Its files, with licence and author",
        "SELECT path, license, author, page FROM media WHERE owner = $uri;",
        "MATCH (m:Media {owner: $uri})\nRETURN m.path, m.license, m.author, m.page;",
        "SELECT ?file ?what ?value WHERE { $uri ?shown ?file . ?file ?what ?value }",
    ),
    ToCopy(
        "All concepts of this name",
        "SELECT uri, language, sense FROM entity WHERE name = $name;",
        "MATCH (n:Entity {name: $name}) RETURN n.uri, n.language, n.sense;",
    ),
    ToCopy(
        "What is two relations away",
        """SELECT DISTINCT b.end_uri FROM relation a JOIN relation b ON b.start_uri = a.end_uri
WHERE a.start_uri = $uri AND b.end_uri <> $uri LIMIT 100;""",
        """MATCH (:Entity {uri: $uri})-->()-->(n:Entity) WHERE n.uri <> $uri
RETURN DISTINCT n.uri LIMIT 100;""",
        "SELECT DISTINCT ?far WHERE { $uri ?a ?near . ?near ?b ?far } LIMIT 100",
    ),
)
DOCUMENTED = (
    ToCopy(
        "One concept, by its URI",
        "SELECT name, language, term, sense FROM entity WHERE uri = $uri;",
        "MATCH (n:Entity {uri: $uri}) RETURN n.name, n.language, n.term, n.sense;",
    ),
    ToCopy(
        "A concept by its name; its senses share the name, so there may be several",
        "SELECT uri, sense FROM entity WHERE name = $name;",
        "MATCH (n:Entity {name: $name}) RETURN n.uri, n.sense;",
    ),
    ToCopy(
        "What begins at a name",
        """SELECT start_uri, type, end_uri, weight FROM relation JOIN entity e ON e.uri = start_uri
WHERE e.name = $name ORDER BY weight DESC;""",
        """MATCH (n:Entity {name: $name})-[r]->(other:Entity)
RETURN n.uri, type(r), other.uri, r.weight ORDER BY r.weight DESC;""",
    ),
    ToCopy(
        "What ends at a name, of one type",
        """SELECT start_uri, end_uri, weight FROM relation JOIN entity e ON e.uri = end_uri
WHERE e.name = $name AND type = 'DistinctFrom';""",
        "MATCH (n:Entity {name: $name})<-[r:DistinctFrom]-(other:Entity) "
        "RETURN other.uri, n.uri, r.weight;",
    ),
    ToCopy(
        "What there is between two names, in either direction",
        """SELECT start_uri, type, end_uri, weight
FROM relation JOIN entity a ON a.uri = start_uri JOIN entity b ON b.uri = end_uri
WHERE a.name = $name AND b.name = $other OR a.name = $other AND b.name = $name;""",
        """MATCH (:Entity {name: $name})-[r]-(:Entity {name: $other})
RETURN startNode(r).uri, type(r), endNode(r).uri, r.weight;""",
    ),
    ToCopy(
        "How many concepts have images",
        "SELECT count(*) FROM entity WHERE image IS NOT NULL;",
        "MATCH (n:Entity) WHERE n.image IS NOT NULL RETURN count(n);",
    ),
    ToCopy(
        "All paths of up to 3 relations between two names, the longest first",
        """WITH RECURSIVE way (uri, length, names, types, relations) AS (
    SELECT uri, 0, json_array(name), json_array(), json_array() FROM entity WHERE name = $name
    UNION ALL
    SELECT e.uri, length + 1, json_insert(names, '$[#]', e.name),
        json_insert(types, '$[#]', r.type), json_insert(relations, '$[#]', r.uri)
    FROM way JOIN relation r ON r.start_uri = way.uri OR r.end_uri = way.uri
    JOIN entity e ON e.uri = iif(r.start_uri = way.uri, r.end_uri, r.start_uri)
    WHERE length < 3 AND r.uri NOT IN (SELECT value FROM json_each(relations))
)
SELECT names, types FROM way JOIN entity USING (uri)
WHERE name = $other AND length > 0 ORDER BY length DESC;""",
        """MATCH p = (:Entity {name: $name})-[*..3]-(:Entity {name: $other})
RETURN [n IN nodes(p) | n.name], [r IN relationships(p) | type(r)] ORDER BY length(p) DESC;""",
    ),
    ToCopy(
        "A shortest path of up to 10 relations that avoids some types",
        """WITH RECURSIVE link AS NOT MATERIALIZED (
    SELECT type, start_uri, end_uri FROM relation
    WHERE type NOT IN ('HasContext', 'SimilarTo', 'DistinctFrom', 'IsA')
), reached (uri, length) AS (
    SELECT uri, 0 FROM entity WHERE name = $other
    UNION
    SELECT iif(start_uri = uri, end_uri, start_uri), length + 1
    FROM reached JOIN link ON start_uri = uri OR end_uri = uri
    WHERE length < 10
), away (uri, length) AS (
    SELECT uri, min(length) FROM reached GROUP BY uri
), way (uri, length, names, types) AS (
    SELECT uri, length, json_array(name), json_array()
    FROM away JOIN entity USING (uri) WHERE name = $name
    UNION ALL
    SELECT e.uri, away.length, json_insert(names, '$[#]', e.name), json_insert(types, '$[#]', type)
    FROM way JOIN link ON start_uri = way.uri OR end_uri = way.uri
    JOIN entity e ON e.uri = iif(start_uri = way.uri, end_uri, start_uri)
    JOIN away ON away.uri = e.uri AND away.length = way.length - 1
)
SELECT names, types FROM way WHERE length = 0 ORDER BY json_array_length(types) LIMIT 1;""",
        """MATCH p = shortestPath((:Entity {name: $name})-[*..10]-(:Entity {name: $other}))
WHERE none(r IN relationships(p)
    WHERE type(r) IN ['HasContext', 'SimilarTo', 'DistinctFrom', 'IsA'])
RETURN [n IN nodes(p) | n.name], [r IN relationships(p) | type(r)] ORDER BY length(p) LIMIT 1;""",
    ),
    ToCopy(
        "The media of a concept, with licence and author",
        """SELECT path, license, license_url, author, page FROM media JOIN entity e ON e.uri = owner
WHERE e.name = $name;""",
        """MATCH (n:Entity {name: $name}) MATCH (m:Media {owner: n.uri})
RETURN m.path, m.license, m.license_url, m.author, m.page;""",
    ),
    ToCopy(
        "Everything that begins or ends at a name",
        """SELECT r.uri, type, start_uri, end_uri FROM entity e JOIN relation r ON start_uri = e.uri
WHERE e.name = $name
UNION
SELECT r.uri, type, start_uri, end_uri FROM entity e JOIN relation r ON end_uri = e.uri
WHERE e.name = $name;""",
        """MATCH (:Entity {name: $name})-[r]-(:Entity)
RETURN DISTINCT r.uri, type(r), startNode(r).uri, endNode(r).uri;""",
    ),
    ToCopy(
        "The media of a relation, with licence and author",
        """SELECT m.path, m.license, m.license_url, m.author, m.page
FROM relation r JOIN entity a ON a.uri = start_uri JOIN entity b ON b.uri = end_uri
JOIN media m ON m.owner = r.uri
WHERE a.name = $name AND type = 'CapableOf' AND b.name = $other;""",
        """MATCH (:Entity {name: $name})-[r:CapableOf]->(:Entity {name: $other})
MATCH (m:Media {owner: r.uri})
RETURN m.path, m.license, m.license_url, m.author, m.page;""",
    ),
    ToCopy(
        "How many concepts have images, written in another way",
        "SELECT count(*) FROM entity WHERE image <> '';",
        """MATCH (n:Entity) WHERE n.image <> "" RETURN count(n);""",
    ),
    ToCopy(
        "How many relations of each type there are",
        "SELECT type, count(*) FROM relation GROUP BY type;",
        "MATCH (:Entity)-[r]->() RETURN type(r), count(r);",
    ),
    ToCopy(
        "One concept, by the id that the server gave it",
        "",
        """MATCH (n:Entity {uri: $uri}) WITH elementId(n) AS id
MATCH (m) WHERE elementId(m) = id RETURN m.uri, m.name;""",
    ),
    ToCopy(
        "One concept, by the number that the server gave it",
        "",
        """MATCH (n:Entity {uri: $uri}) WITH id(n) AS id
MATCH (m) WHERE id(m) = id RETURN m.uri, m.name;""",
    ),
)


def about(concept: str, name: str) -> Sequence[ToCopy]:
    """Of one concept; whatever else can be asked is on a page of its own."""
    return _filled(ABOUT, {"uri": concept, "name": name})


def queries(concept: str, name: str, other: str) -> Sequence[ToCopy]:
    """All there are; `other` is the second name of those between two."""
    return _filled((*ABOUT, *DOCUMENTED), {"uri": concept, "name": name, "other": other})


def _filled(shapes: Sequence[ToCopy], names: Mapping[str, str]) -> list[ToCopy]:
    cut = {what: text[:LONGEST] if what != "uri" else text for what, text in names.items()}
    return [
        ToCopy(
            each.title,
            _with(each.sql, cut, _sql),
            _with(each.cypher, cut, _cypher),
            _with(each.sparql, cut, iri_of),
        )
        for each in shapes
    ]


def _with(text: str, names: Mapping[str, str], written: Callable[[str], str]) -> str:
    """All at once: what looks like a place for another name stays a part of this one."""
    return Template(text).safe_substitute({what: written(name) for what, name in names.items()})


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
