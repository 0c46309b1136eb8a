"""The graph in Neo4j as pages read it.

Promise: a question that the server does not answer within its deadline raises Unavailable.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from ..add import KINDS, Counts, Entity, Media, Relation, beginning, relation_type
from ..base.text import storable
from . import cypher_reader as cypher
from .neo4j import Neo4jGraph, Rows
from .reader import FIRST, File, Key, Link, MediaNumbers, Name, Numbers, Side, TypeNumbers

PAGE_S, ASIDE_S = 15.0, 600.0


class Neo4jReader:
    def __init__(self, graph: Neo4jGraph, types: Sequence[str]) -> None:
        self._graph = graph
        self._typed = cypher.TypedReading(types)

    def close(self) -> None:
        self._graph.close()

    def counts(self) -> Counts:
        return self._graph.counts(PAGE_S)

    def change_mark(self) -> str:
        """What was only replaced is seen at the next change."""
        (numbers,) = self._ask(cypher.MARK)
        return " ".join(map(str, numbers))

    def entities_at(self, uris: Sequence[str]) -> dict[str, Entity]:
        rows = self._ask(cypher.ENTITIES_AT, uris=[storable(each) for each in uris])
        return {row[0]: Entity(*row) for row in rows}

    def relations_at(self, uris: Sequence[str]) -> dict[str, Relation]:
        found: dict[str, Relation] = {}
        for type_, group in groupby(sorted(map(storable, uris), key=relation_type), relation_type):
            if type_ in self._typed.relation_at:
                rows = self._ask(self._typed.relation_at[type_], uris=list(group))
                found |= {row[0]: Relation(*row) for row in rows}
        return found

    def media_of(self, owners: Sequence[str]) -> dict[str, list[Media]]:
        known = {"", *self._typed.types}
        clean = [storable(each) for each in dict.fromkeys(owners)]
        asked = [each for each in clean if relation_type(each) in known]
        return self._graph.media_of(asked, PAGE_S)

    def files_at(self, paths: Sequence[str]) -> dict[str, File]:
        rows = self._ask(cypher.FILES_AT, paths=[storable(each) for each in paths])
        return {row[1]: File(row[0], Media(*row[1:])) for row in rows}

    def senses(self, name: str, limit: int) -> list[Entity]:
        return [Entity(*row) for row in self._ask(cypher.SENSES, name=storable(name), limit=limit)]

    def degree_by_side(self, concept: str) -> list[Side]:
        return [
            Side(type_, is_outward, number, ())
            for is_outward, query in self._typed.degree_by_side.items()
            for type_, number in self._ask(query, concept=storable(concept))
        ]

    def sides(self, concept: str, each: int, is_by_weight: bool) -> list[Side]:
        if not is_by_weight:
            return [
                side._replace(relations=self.side(concept, *side[:2], each, False, FIRST))
                for side in self.degree_by_side(concept)
            ]
        return [
            side
            for is_outward, query in self._typed.sides_by_weight.items()
            for side in _sides(self._ask(query, concept=storable(concept), each=each), is_outward)
        ]

    def side(
        self, concept: str, type_: str, is_outward: bool, limit: int, is_by_weight: bool, after: Key
    ) -> list[Relation]:
        texts = self._typed.side_by_weight if is_by_weight else self._typed.side_by_uri
        if (type_, is_outward) not in texts:
            return []
        weight, uri = after
        start = storable(concept)
        rows = self._ask(
            texts[type_, is_outward], beginning=beginning(type_, start),
            concept=start, weight=weight, after=storable(uri), limit=limit,
        )  # fmt: skip
        return [Relation(*row) for row in rows]

    def of_type(self, type_: str, limit: int, after: str) -> list[Relation]:
        query = self._typed.of_type.get(type_)
        rows = self._ask(query, after=storable(after), limit=limit) if query else []
        return [Relation(*row) for row in rows]

    def links(
        self,
        concepts: Sequence[str],
        each: int,
        types: Sequence[str] = (),
        among: Sequence[str] = (),
    ) -> list[Link]:
        lists = {"concepts": concepts, "types": types, "among": among}
        clean = {name: [storable(each) for each in some] for name, some in lists.items()}
        return [
            Link(row[0], row[1], row[2], row[3], row[4], is_outward)
            for is_outward, query in self._typed.links.items()
            for row in self._ask(query, each=each, **clean)
        ]

    def entity_page(self, after: str, limit: int) -> list[Name]:
        return [Name(*row) for row in self._ask(cypher.NAMES, after=after, limit=limit)]

    def file_page(self, after: str, limit: int) -> list[File]:
        rows = self._ask(cypher.FILES, after=after, limit=limit)
        return [File(row[0], Media(*row[1:])) for row in rows]

    def numbers(self) -> Numbers:
        ((entities, *by_kind, with_any),) = self._aside(cypher.CONCEPTS)
        types = (self._type_numbers(each) for each in self._typed.types)
        found = sorted(filter(None, types), key=lambda each: (-each.number, each.type))
        media = [MediaNumbers(*row) for row in self._aside(cypher.MEDIA)]
        relations, files = (sum(each.number for each in some) for some in (found, media))
        return Numbers(
            Counts(entities, relations, files),
            dict(zip((*KINDS, "any"), (*by_kind, with_any), strict=True)),
            {language: number for language, number in self._aside(cypher.LANGUAGES)},
            found,
            media,
            {number: owners for number, owners in self._aside(cypher.FILES_AN_OWNER)},
            {degree: concepts for degree, concepts in self._aside(cypher.DEGREES)},
        )

    def _type_numbers(self, type_: str) -> TypeNumbers | None:
        rows = self._aside(self._typed.numbers[type_])
        if not rows:
            return None
        heaviest = [uri for (uri,) in self._aside(self._typed.heaviest[type_])]
        return TypeNumbers._make((*rows[0], heaviest))

    def _ask(self, query: str, **parameters: object) -> Rows:
        return self._graph.ask(query, PAGE_S, **parameters)

    def _aside(self, query: str) -> Rows:
        return self._graph.ask(query, ASIDE_S)


def _sides(rows: Rows, is_outward: bool) -> list[Side]:
    grouped = groupby(rows, key=lambda row: (row[2], row[0]))
    return [
        Side(type_, is_outward, number, [Relation(*row[1:]) for row in group])
        for (type_, number), group in grouped
    ]
