"""Every Cypher text. Values are parameters. The type of a relation cannot be one, so such a text
exists once for each type of a list that whoever opens the graph hands in, and that holds plain
names only: nothing from outside ever becomes part of a text.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from ..add import Media

_PLAIN_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]*")
_SCHEMA = {
    "sheaf_entity_uri": "CONSTRAINT {} IF NOT EXISTS FOR (n:Entity) REQUIRE n.uri IS UNIQUE",
    "sheaf_entity_name": "INDEX {} IF NOT EXISTS FOR (n:Entity) ON (n.name)",
    "sheaf_media_path": "CONSTRAINT {} IF NOT EXISTS FOR (n:Media) REQUIRE n.path IS UNIQUE",
    "sheaf_media_owner": "INDEX {} IF NOT EXISTS FOR (n:Media) ON (n.owner)",
}
KNOWN_SCHEMA = "SHOW INDEXES YIELD name"
AWAIT_SCHEMA = "CALL db.awaitIndexes(60)"
STATUS = "SHOW DATABASE $name YIELD statusMessage"  # empty while nothing is wrong with it

# While a graph grows Neo4j would plan each of these anew every ten seconds, which took most of the
# time of a small harvest. The plan for an empty graph uses the indexes already.
KEEP_PLAN = "CYPHER replan=skip"
# To set a name to what it is changes nothing, but it locks the entity.
WRITE_ENTITIES = f"""{KEEP_PLAN} UNWIND $rows AS row MERGE (n:Entity {{uri: row[0]}})
    ON CREATE SET n.language = row[2], n.term = row[3], n.sense = row[4]
    SET n.name = row[1]"""
ATTACH = "SET o.image = row.image, o.audio = row.audio, o.visual = row.visual"
ATTACH_TO_ENTITY = f"{KEEP_PLAN} UNWIND $rows AS row MATCH (o:Entity {{uri: row.owner}}) {ATTACH}"
DELETE_OLD_MEDIA = f"""{KEEP_PLAN} UNWIND $owners AS owner MATCH (m:Media {{owner: owner}})
    WHERE NOT m.path IN $kept DETACH DELETE m"""
WRITE_MEDIA = f"{KEEP_PLAN} UNWIND $rows AS row MERGE (m:Media {{path: row.path}}) SET m = row"

COUNT_ENTITIES = "MATCH (n:Entity) WHERE n.uri IS NOT NULL RETURN count(n)"
COUNT_MEDIA = "MATCH (m:Media) WHERE m.path IS NOT NULL RETURN count(m)"
HOLDS_ENTITIES = "MATCH (n:Entity) WHERE n.uri IN $keys RETURN count(n)"
HOLDS_MEDIA = "MATCH (m:Media) WHERE m.path IN $keys RETURN count(m)"

RELATION = """r.uri, type(r), startNode(r).uri, endNode(r).uri,
    r.weight, r.surfaceText, r.license, r.dataset"""
READ_ENTITIES = """MATCH (n:Entity) WHERE n.uri > $after
    RETURN n.uri, n.name, n.language, n.term, n.sense ORDER BY n.uri LIMIT $page"""
LISTS = """WHERE o.uri IN $owners AND coalesce(o.image, o.audio, o.visual) IS NOT NULL
    RETURN o.uri, o.image, o.audio, o.visual"""
ENTITIES_WITH_MEDIA = f"MATCH (o:Entity) {LISTS}"
READ_MEDIA = f"""MATCH (m:Media) WHERE m.path IN $paths
    RETURN {", ".join(f"m.{field}" for field in Media._fields)}"""

DELETE_MEDIA = """MATCH (m:Media) WHERE m.path IS NOT NULL
    WITH m LIMIT $page DETACH DELETE m RETURN count(m)"""
DELETE_ENTITIES = """MATCH (n:Entity) WHERE n.uri IS NOT NULL
    WITH n LIMIT $page DETACH DELETE n RETURN count(n)"""

# Who writes here. One that has not begun yet is alive, but not known; nobody else has this label.
_MEMBER = "(h:SheafHarvest {id: $harvest})"
KNOWN_MEMBERS = """MATCH (h:SheafHarvest) WHERE h.since IS NOT NULL
    RETURN h.id, coalesce(h.run, 0) ORDER BY h.id"""
ADMIT_MEMBER = f"""MERGE {_MEMBER} SET h.since = coalesce(h.since, timestamp()),
    h.run = CASE WHEN coalesce(h.run, 0) > $run THEN h.run ELSE $run END"""
MEMBER_BEGINS = f"MERGE {_MEMBER} SET h.alive = timestamp()"
MEMBER_LIVES = f"""MATCH {_MEMBER} WHERE h.since IS NOT NULL
    SET h.alive = timestamp() RETURN count(h)"""
MEMBER_ENDS = f"MATCH {_MEMBER} REMOVE h.alive WITH h WHERE h.since IS NULL DELETE h"
LIVING_MEMBERS = """MATCH (h:SheafHarvest) WHERE h.alive > timestamp() - $fresh_ms
    RETURN h.id, (timestamp() - h.alive) / 1000 ORDER BY h.alive DESC"""
DELETE_MEMBERS = "MATCH (h:SheafHarvest) WHERE h.id IS NOT NULL DELETE h"


def plain_types(types: Sequence[str]) -> None:
    for each in types:
        if not _PLAIN_NAME.fullmatch(each):
            raise ValueError(f"not a type of relation: {each!r}")


class TypedTexts:
    """The texts with a type of relation in them: one for each type, or one that names all."""

    def __init__(self, types: Sequence[str]) -> None:
        plain_types(types)
        self._types = types
        schema = {**_SCHEMA, **self._keys()}
        self.create_schema = {name: f"CREATE {what.format(name)}" for name, what in schema.items()}
        self.write_relations = {each: _write(each) for each in types}
        self.attach_to_relation = self._with_each(
            f"{KEEP_PLAN} UNWIND $rows AS row MATCH ()-[o:`%s` {{uri: row.owner}}]->() {ATTACH}"
        )
        self.count_by_type = " UNION ALL ".join(map(_count, types))
        self.holds_relations = self._with_each(
            "MATCH ()-[r:`%s`]->() WHERE r.uri IN $keys RETURN count(r)"
        )
        any_type = "|".join(f"`{each}`" for each in types)
        self.at_hand = f"""CALL {{ MATCH (n:Entity) RETURN count(n) AS entities }}
            CALL {{ MATCH ()-[r:{any_type}]->() RETURN count(r) AS relations }}
            CALL {{ MATCH (m:Media) RETURN count(m) AS media }}
            RETURN entities, relations, media"""
        self.neighbours = f"""MATCH (:Entity {{uri: $concept}})-[r:{any_type}]-(:Entity)
            WITH DISTINCT r RETURN {RELATION} ORDER BY r.weight DESC, r.uri"""
        self.read_relations = self._with_each(
            "MATCH ()-[r:`%s`]->() WHERE r.uri > $after "
            f"RETURN {RELATION} ORDER BY r.uri LIMIT $page"
        )
        self.relations_with_media = self._with_each(f"MATCH ()-[o:`%s`]->() {LISTS}")
        self.delete_relations = self._with_each(
            "MATCH ()-[r:`%s`]->() WHERE r.uri IS NOT NULL "
            "WITH r LIMIT $page DELETE r RETURN count(r)"
        )

    def _keys(self) -> dict[str, str]:
        return {
            f"sheaf_{each}_uri": "CONSTRAINT {} IF NOT EXISTS "
            f"FOR ()-[r:`{each}`]-() REQUIRE r.uri IS UNIQUE"
            for each in self._types
        }

    def _with_each(self, text: str) -> dict[str, str]:
        return {each: text % each for each in self._types}


def _write(type_: str) -> str:
    # Null equals nothing, not even null; the number 0 equals no text and the empty text no number.
    return f"""{KEEP_PLAN} UNWIND $rows AS row
        MATCH (a:Entity {{uri: row[2]}}) MATCH (b:Entity {{uri: row[3]}})
        MERGE (a)-[r:`{type_}` {{uri: row[0]}}]->(b)
        WITH r, row WHERE coalesce(r.weight, '') <> row[4]
            OR coalesce(r.surfaceText, 0) <> coalesce(row[5], 0)
            OR coalesce(r.license, 0) <> coalesce(row[6], 0)
            OR coalesce(r.dataset, 0) <> coalesce(row[7], 0)
        SET r.weight = row[4], r.surfaceText = row[5], r.license = row[6], r.dataset = row[7]
        RETURN count(r)"""


def _count(type_: str) -> str:
    relations = f"MATCH ()-[r:`{type_}`]->() WHERE r.uri IS NOT NULL"
    return f"{relations} RETURN '{type_}' AS type, count(r) AS number"
