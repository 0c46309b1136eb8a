"""Every Cypher text that pages and statistics ask with. As in `cypher`, values are parameters, and
nothing but the plain names of types becomes part of a text.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..add import KINDS, Media
from .cypher import RELATION, plain_types
from .reader import HEAVIEST

_FILE = f"m.owner, {', '.join(f'm.{field}' for field in Media._fields)}"
_ENTITY = "n.uri, n.name, n.language, n.term, n.sense"
_DEGREE = "COUNT { (n)-->() } + COUNT { (n)<--() }"
_HAS = ", ".join(f"count(o.{kind})" for kind in KINDS)
_HAS_ANY = f"count(coalesce({', '.join(f'o.{kind}' for kind in KINDS)}))"

ENTITIES_AT = f"MATCH (n:Entity) WHERE n.uri IN $uris RETURN {_ENTITY}"
FILES_AT = f"MATCH (m:Media) WHERE m.path IN $paths RETURN {_FILE}"
SENSES = f"MATCH (n:Entity {{name: $name}}) RETURN {_ENTITY} ORDER BY n.uri LIMIT $limit"
# Somebody else's nodes may be called so too, and have other properties or none.
NAMES = f"""MATCH (n:Entity) WHERE n.uri > $after WITH n ORDER BY n.uri LIMIT $limit
    RETURN n.uri, coalesce(toStringOrNull(n.name), ''),
    coalesce(toStringOrNull(n.language), ''), {_DEGREE}"""
FILES = f"""MATCH (m:Media) WHERE m.path > $after
    RETURN {_FILE} ORDER BY m.path LIMIT $limit"""

# Numbers that a server has at hand, whatever they count: they only tell that something changed.
MARK = """CALL { MATCH (n:Entity) RETURN count(n) AS entities }
    CALL { MATCH (m:Media) RETURN count(m) AS media }
    CALL { MATCH ()-[r]->() RETURN count(r) AS relations }
    RETURN entities, media, relations"""

CONCEPTS = f"MATCH (o:Entity) WHERE o.uri IS NOT NULL RETURN count(o), {_HAS}, {_HAS_ANY}"
LANGUAGES = """MATCH (n:Entity) WHERE n.uri IS NOT NULL
    RETURN n.language AS language, count(n) AS number ORDER BY number DESC, language"""
MEDIA = """MATCH (m:Media) WHERE m.path IS NOT NULL
    RETURN m.kind AS kind, m.provider AS provider, m.license AS license, count(m) AS number,
    sum(m.bytes) ORDER BY number DESC, kind, provider, license"""
FILES_AN_OWNER = """MATCH (m:Media) WHERE m.path IS NOT NULL
    WITH m.owner AS owner, count(m) AS files
    RETURN files, count(owner) ORDER BY files"""
DEGREES = f"""MATCH (n:Entity) WHERE n.uri IS NOT NULL WITH {_DEGREE} AS degree
    RETURN degree, count(degree) ORDER BY degree"""


class TypedReading:
    """The texts with types of relations in them; those for a direction by whether it is outward."""

    def __init__(self, types: Sequence[str]) -> None:
        plain_types(types)
        self.types = tuple(types)
        any_type = "|".join(f"`{each}`" for each in types)
        self.relation_at = {
            each: f"MATCH ()-[r:`{each}`]->() WHERE r.uri IN $uris RETURN {RELATION}"
            for each in types
        }
        self.degree_by_side = {out: _degrees(types, out) for out in (True, False)}
        self.sides_by_weight = {out: _sides(any_type, out) for out in (True, False)}
        self.side_by_weight = {
            (each, o): _by_weight(each, o) for each in types for o in (True, False)
        }
        self.side_by_uri = {(each, o): _by_uri(each, o) for each in types for o in (True, False)}
        self.of_type = {
            each: f"MATCH ()-[r:`{each}`]->() WHERE r.uri > $after "
            f"RETURN {RELATION} ORDER BY r.uri LIMIT $limit"
            for each in types
        }
        self.links = {out: _links(any_type, out) for out in (True, False)}
        self.numbers = {each: _type_numbers(each) for each in types}
        self.heaviest = {
            each: f"MATCH ()-[o:`{each}`]->() WHERE o.uri IS NOT NULL "
            f"RETURN o.uri AS uri ORDER BY o.weight DESC, uri LIMIT {HEAVIEST}"
            for each in types
        }


def _pattern(type_: str, is_outward: bool, there: str = ":Entity") -> str:
    arrow = f"-[r:{type_}]->" if is_outward else f"<-[r:{type_}]-"
    return f"(:Entity {{uri: $concept}}){arrow}({there})"


def _degrees(types: Sequence[str], is_outward: bool) -> str:
    """A server knows how many relations of a type a concept has: nobody reads a hundred thousand
    of them to count them."""
    ends = ("-", "->") if is_outward else ("<-", "-")
    each = ", ".join(
        f"['{type_}', COUNT {{ (n){ends[0]}[:`{type_}`]{ends[1]}() }}]" for type_ in types
    )
    return f"""MATCH (n:Entity {{uri: $concept}}) UNWIND [{each}] AS found
        WITH found[0] AS type, found[1] AS number WHERE number > 0
        RETURN type, number ORDER BY type"""


def _sides(type_: str, is_outward: bool) -> str:
    return f"""MATCH {_pattern(type_, is_outward)} WITH r ORDER BY r.weight DESC, r.uri
        WITH type(r) AS type, count(r) AS number, collect(r)[..$each] AS some ORDER BY type
        UNWIND some AS r RETURN number, {RELATION}"""


def _by_weight(type_: str, is_outward: bool) -> str:
    return f"""MATCH {_pattern(f"`{type_}`", is_outward)}
        WHERE r.weight < $weight OR r.weight = $weight AND r.uri > $after
        RETURN {RELATION} ORDER BY r.weight DESC, r.uri LIMIT $limit"""


def _by_uri(type_: str, is_outward: bool) -> str:
    """Those that begin at a concept share the beginning of their URIs, by which an index finds
    them; of those that end there the URIs have to be read, and only of the first ones the rest."""
    if is_outward:
        found = f"MATCH ()-[r:`{type_}`]->() WHERE r.uri STARTS WITH $beginning AND r.uri > $after"
        return f"{found} RETURN {RELATION} ORDER BY r.uri LIMIT $limit"
    return f"""MATCH {_pattern(f"`{type_}`", False, "")} WITH r, r.uri AS uri WHERE uri > $after
        WITH r, uri ORDER BY uri LIMIT $limit RETURN {RELATION} ORDER BY uri"""


def _links(type_: str, is_outward: bool) -> str:
    arrow = f"-[r:{type_}]->" if is_outward else f"<-[r:{type_}]-"
    return f"""UNWIND $concepts AS here CALL {{ WITH here
            MATCH (:Entity {{uri: here}}){arrow}(m:Entity) WHERE $types = [] OR type(r) IN $types
            RETURN m.uri AS there, r.uri AS uri, type(r) AS type, r.weight AS weight LIMIT $each }}
        WITH here, there, uri, type, weight WHERE $among = [] OR there IN $among
        RETURN here, there, uri, type, weight"""


def _type_numbers(type_: str) -> str:
    return f"""MATCH ()-[o:`{type_}`]->() WHERE o.uri IS NOT NULL
        RETURN '{type_}', count(o), min(o.weight), avg(o.weight), max(o.weight),
        {_HAS}, {_HAS_ANY}"""
