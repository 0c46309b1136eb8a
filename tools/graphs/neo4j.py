"""The graph in Neo4j: entities and media are nodes, relations are relationships of their own type.

Promise: every write is one transaction and gives the same graph when repeated. Whoever writes locks
entities first and in the order of their URIs, then relations by type and URI, then media: two
writers wait for each other and do not deadlock. A server that goes away is `Unavailable`; one that
has given the database up ends the harvest, because waiting would not bring it back.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import groupby
from operator import attrgetter
from typing import Any, TypeVar

from neo4j import GraphDatabase, ManagedTransaction, Session, unit_of_work
from neo4j.exceptions import DriverError, IncompleteCommit, Neo4jError

from ..add import Counts, Entity, Media, Relation, by_kind, relation_type, unseen, with_ends
from ..base.deadline import within
from ..errors import GiveUp, Unavailable, Unreachable, UsageError
from . import cypher
from .neo4j_address import Address
from .neo4j_errors import explained, out_of_order, root_of, silent
from .neo4j_members import Neo4jMembers

DRIVER: dict[str, Any] = {
    "user_agent": "sheaf",
    "connection_timeout": 4.0,
    "connection_acquisition_timeout": 8.0,  # all of connecting: a server just started is slow
    "connection_write_timeout": 60.0,
    "max_transaction_retry_time": 2.0,  # then the stage waits, and can be stopped meanwhile
    "liveness_check_timeout": 60.0,
    "notifications_min_severity": "OFF",
    "telemetry_disabled": True,
}
TRANSACTION_S = 300.0
SOON_S = 3.0
GRACE_S = 5.0  # beyond a deadline that the server is told, if it says nothing at all
COMMIT_TRIES = 5
PAGE = 5000  # records read, or deleted, at once
BY_TYPE = attrgetter("type", "uri")

logging.getLogger("neo4j").setLevel(logging.CRITICAL)  # what the driver logs it also raises

T = TypeVar("T")
Rows = list[list[Any]]


class Neo4jGraph:
    def __init__(self, address: Address, password: str, types: Sequence[str]) -> None:
        """`types` of relations are those it can hold. Raises Unreachable if the server, the user or
        the database is not to be had."""
        self._address = address
        self._typed = cypher.TypedTexts(types)
        self.members = Neo4jMembers(str(address), self._read, self._change)
        auth = (address.user, password) if password else None
        with self._explained():
            self._driver = GraphDatabase.driver(address.server, auth=auth, **DRIVER)
        try:
            with self._explained(), self._session() as session, session.begin_transaction() as tx:
                tx.run("RETURN 1").consume()
        except Unavailable as error:
            self.close()
            raise Unreachable(str(error)) from error
        except BaseException:
            self.close()
            raise

    def prepare(self) -> None:
        """Make the constraints and indexes that are missing."""
        known = {name for (name,) in self._read(cypher.KNOWN_SCHEMA)}
        missing = [query for name, query in self._typed.create_schema.items() if name not in known]
        try:
            if missing:
                self._commit(_create, missing)
            self._read(cypher.AWAIT_SCHEMA)
        except GiveUp as error:
            raise UsageError(f"{error}: use a database that nobody else has indexed") from error

    def close(self) -> None:
        self._driver.close()

    # --- writing ---------------------------------------------------------------------------

    def write(self, entities: Iterable[Entity], relations: Iterable[Relation]) -> int:
        links = sorted({each.uri: each for each in relations}.values(), key=BY_TYPE)
        nodes = sorted(with_ends(entities, links))
        for type_ in {each.type for each in links} - self._typed.write_relations.keys():
            raise GiveUp(f"{type_!r} is no type of relation that is stored")
        return self._commit(_write, self._typed, nodes, links) if nodes else 0

    def attach(self, media: Mapping[str, Sequence[Media]]) -> None:
        if media:
            self._commit(_attach, self._typed, media)

    def clear(self, deleted: Callable[[int], object] = unseen) -> None:
        """Only what is ours, a page at a time: one transaction could not hold it all. Relations go
        first, so that no entity takes a million of them with it."""
        relations = [self._typed.delete_relations[type_] for type_ in self.relations_by_type()]
        for query in (*relations, cypher.DELETE_MEDIA, cypher.DELETE_ENTITIES):
            while number := self._commit(_rows, query, {"page": PAGE})[0][0]:
                deleted(number)
        self._change(cypher.DELETE_MEMBERS)

    # --- reading ---------------------------------------------------------------------------

    @contextmanager
    def still(self) -> Iterator[Neo4jGraph]:
        """A server shows what is there when it is asked, and knows no earlier moment."""
        yield self

    def counts(self, seconds: float = TRANSACTION_S) -> Counts:
        ((entities,),) = self.ask(cypher.COUNT_ENTITIES, seconds)
        ((media,),) = self.ask(cypher.COUNT_MEDIA, seconds)
        return Counts(entities, sum(self.relations_by_type(seconds).values()), media)

    def counts_soon(self) -> Counts:
        """Of what is ours. Where that takes long all counts that is called as ours is: these
        numbers a server has at hand."""
        try:
            return self.counts(SOON_S)
        except Unavailable:
            return Counts(*self.ask(self._typed.at_hand, SOON_S)[0])

    def relations_by_type(self, seconds: float = TRANSACTION_S) -> dict[str, int]:
        rows = self.ask(self._typed.count_by_type, seconds)
        found = [(type_, number) for type_, number in rows if number]
        return dict(sorted(found, key=lambda row: (-row[1], row[0])))

    def neighbours(self, concept: str) -> list[Relation]:
        return [Relation(*row) for row in self._read(self._typed.neighbours, concept=concept)]

    def entities(self) -> Iterator[Entity]:
        return (Entity(*row) for row in self._pages(cypher.READ_ENTITIES))

    def relations(self) -> Iterator[Relation]:
        for type_ in self.relations_by_type():
            yield from (Relation(*row) for row in self._pages(self._typed.read_relations[type_]))

    def media_of(
        self, owners: Sequence[str], seconds: float = TRANSACTION_S
    ) -> dict[str, list[Media]]:
        paths: dict[str, list[str]] = {}
        for type_, group in groupby(sorted(owners, key=relation_type), relation_type):
            query = self._typed.relations_with_media[type_] if type_ else cypher.ENTITIES_WITH_MEDIA
            for owner, *lists in self.ask(query, seconds, owners=list(group)):
                paths[owner] = [path for each in lists if each for path in each]
        wanted = [path for each in paths.values() for path in each]
        rows = self.ask(cypher.READ_MEDIA, seconds, paths=wanted) if wanted else []
        found = {row[0]: Media(*row) for row in rows}
        # What was replaced between the two questions is left out.
        return {
            owner: [found[path] for path in each if path in found] for owner, each in paths.items()
        }

    def holds(
        self,
        entities: Sequence[Entity] = (),
        relations: Sequence[Relation] = (),
        media: Sequence[Media] = (),
    ) -> int:
        number = self._count_of(cypher.HOLDS_ENTITIES, [each.uri for each in entities])
        number += self._count_of(cypher.HOLDS_MEDIA, [each.path for each in media])
        for type_, group in groupby(sorted(relations, key=BY_TYPE), attrgetter("type")):
            number += self._count_of(
                self._typed.holds_relations[type_], [each.uri for each in group]
            )
        return number

    def _count_of(self, query: str, keys: Sequence[str]) -> int:
        number: int = self._read(query, keys=keys)[0][0] if keys else 0
        return number

    def _pages(self, query: str) -> Iterator[list[Any]]:
        after = ""
        while page := self._read(query, after=after, page=PAGE):
            yield from page
            after = page[-1][0]

    def ask(self, query: str, seconds: float, **parameters: object) -> Rows:
        """Answered within these seconds or Unavailable: the driver itself would wait two minutes
        for a server that falls silent."""
        try:
            return within(seconds + GRACE_S, lambda: self._answer(query, seconds, parameters))
        except TimeoutError:
            raise silent(self._address) from None

    def _answer(self, query: str, seconds: float, parameters: dict[str, object]) -> Rows:
        work = unit_of_work(timeout=seconds)(_rows)
        with self._explained(), self._session() as session:
            return session.execute_read(work, query, parameters)

    # --- the server ------------------------------------------------------------------------

    def _read(self, query: str, **parameters: object) -> Rows:
        return self.ask(query, TRANSACTION_S, **parameters)

    def _change(self, query: str, **parameters: object) -> Rows:
        return self._commit(_rows, query, parameters)

    def _commit(self, work: Callable[..., T], *arguments: object) -> T:
        with self._explained():
            for _ in range(COMMIT_TRIES - 1):
                try:
                    return self._session_write(work, *arguments)
                except IncompleteCommit:  # committed or not: the same again gives the same graph
                    continue
            return self._session_write(work, *arguments)

    def _session_write(self, work: Callable[..., T], *arguments: object) -> T:
        with self._session() as session:
            return session.execute_write(work, *arguments)

    def _session(self) -> Session:
        bookmarks = self._driver.execute_query_bookmark_manager
        return self._driver.session(database=self._address.database, bookmark_manager=bookmarks)

    @contextmanager
    def _explained(self) -> Iterator[None]:
        """What the driver raises, as what to do next."""
        try:
            yield
        except (Neo4jError, DriverError) as error:
            next_step = explained(error, self._address)
            is_answered = isinstance(root_of(error), Neo4jError)
            if isinstance(next_step, Unavailable) and is_answered and (why := self._given_up()):
                raise out_of_order(self._address, why) from error
            raise next_step from error

    def _given_up(self) -> str:
        """Why the server itself does not run the database: its disk was full, or its files are
        damaged. Nothing if it may come back, as that of a server that starts or stops."""
        try:
            with self._driver.session(database="system") as session:
                said = session.run(cypher.STATUS, name=self._address.database).value()
        except (Neo4jError, DriverError):
            return ""
        return said[0] if said and all(said) else ""


# --- what happens in a transaction; the driver may run it more than once --------------------


@unit_of_work(timeout=TRANSACTION_S)
def _create(tx: ManagedTransaction, schema: Sequence[str]) -> None:
    for query in schema:
        tx.run(query).consume()


@unit_of_work(timeout=TRANSACTION_S)
def _rows(tx: ManagedTransaction, query: str, parameters: dict[str, Any]) -> Rows:
    return tx.run(query, parameters).values()


@unit_of_work(timeout=TRANSACTION_S)
def _write(
    tx: ManagedTransaction,
    typed: cypher.TypedTexts,
    nodes: Sequence[Entity],
    links: Sequence[Relation],
) -> int:
    tx.run(cypher.WRITE_ENTITIES, rows=[list(each) for each in nodes]).consume()
    return sum(
        tx.run(typed.write_relations[type_], rows=[list(each) for each in group]).single(
            strict=True
        )[0]
        for type_, group in groupby(links, attrgetter("type"))
    )


@unit_of_work(timeout=TRANSACTION_S)
def _attach(
    tx: ManagedTransaction, typed: cypher.TypedTexts, media: Mapping[str, Sequence[Media]]
) -> None:
    owners = sorted(media, key=lambda owner: (relation_type(owner), owner))
    for type_, group in groupby(owners, relation_type):
        query = typed.attach_to_relation[type_] if type_ else cypher.ATTACH_TO_ENTITY
        tx.run(query, rows=[{"owner": each, **by_kind(media[each])} for each in group]).consume()
    files = [{"owner": owner, **each._asdict()} for owner in owners for each in media[owner]]
    kept = [each["path"] for each in files]
    tx.run(cypher.DELETE_OLD_MEDIA, owners=owners, kept=kept).consume()
    tx.run(cypher.WRITE_MEDIA, rows=files).consume()
