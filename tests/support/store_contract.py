"""What every graph store promises. The test of a store subclasses this and makes the store."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import closing

import pytest

from tools import uri
from tools.add import Adder, Entity, Graph, Media, Page, Relation, endpoints
from tools.errors import AlreadyRunning, StateDamaged


def relation(rel: str, start: str, end: str, weight: float = 1.0, **more: str | None) -> Relation:
    texts = {"surface_text": None, "license": "cc:by/4.0", "dataset": "/d/test"} | more
    return Relation(uri.assertion(f"/r/{rel}", start, end), rel, start, end, weight, **texts)


def image(path: str, kind: str = "image") -> Media:
    return Media(
        path, kind, "image/png", "00" * 32, 1000, 640, 480, None, "cc0", "https://example.org/cc0",
        "Ada", "https://example.org/page", "https://example.org/0.png", "test",
    )  # fmt: skip


DOG_IS_PET = relation("IsA", "/c/en/dog", "/c/en/pet", 2.0, surface_text="[[a dog]] is [[a pet]]")
DOG_BARKS = relation("CapableOf", "/c/en/dog", "/c/en/bark")
SENSE = relation("IsA", "/c/en/dog/n/wn/animal", "/c/en/dog")
STRANGE = relation(
    "HasA", "/c/en/o'neil\\\"s", "/c/en/'})_detach_delete_n_//", surface_text="\\ \" ' ü😀\n$x {0}"
)
DOG_MEDIA = [image("m/1.png"), image("m/0.png"), image("m/0.gif", "visual")]  # in this order


def write(graph: Graph, *relations: Relation) -> int:
    return graph.write([Entity.of(each) for each in endpoints(relations)], relations)


class StoreContract:
    """Subclasses give a fixture `open_store` that opens the same store again and again."""

    @pytest.fixture
    def graph(self, open_store: Callable[[], Graph]) -> Iterator[Graph]:
        graph = open_store()
        yield graph
        graph.close()

    def test_a_new_store_is_empty(self, graph: Graph) -> None:
        assert graph.counts() == (0, 0, 0)
        assert graph.relations_by_type() == {}

    def test_what_is_written_can_be_read(self, graph: Graph) -> None:
        write(graph, DOG_IS_PET, DOG_BARKS)
        assert graph.counts() == (3, 2, 0)
        assert graph.neighbours("/c/en/dog") == [DOG_IS_PET, DOG_BARKS]
        assert graph.neighbours("/c/en/bark") == [DOG_BARKS]
        assert graph.neighbours("/c/en/nobody") == []

    def test_writing_twice_changes_nothing(self, graph: Graph) -> None:
        assert write(graph, DOG_IS_PET, DOG_BARKS) == 2
        assert write(graph, DOG_IS_PET, DOG_BARKS) == 0
        assert write(graph, DOG_IS_PET, SENSE) == 1
        assert graph.counts() == (4, 3, 0)

    def test_a_changed_weight_changes_the_relation_and_makes_no_second(self, graph: Graph) -> None:
        write(graph, DOG_IS_PET)
        heavier = DOG_IS_PET._replace(weight=9.5, surface_text=None)
        write(graph, heavier)
        assert graph.neighbours("/c/en/pet") == [heavier]

    def test_senses_are_entities_of_their_own(self, graph: Graph) -> None:
        write(graph, SENSE, DOG_IS_PET)
        assert graph.counts().entities == 3
        assert graph.neighbours("/c/en/dog/n/wn/animal") == [SENSE]

    def test_strange_strings_come_back_as_they_went_in(self, graph: Graph) -> None:
        write(graph, STRANGE)
        assert graph.neighbours(STRANGE.start) == [STRANGE]

    def test_a_loop_is_one_neighbour(self, graph: Graph) -> None:
        loop = relation("SimilarTo", "/c/en/same", "/c/en/same")
        write(graph, loop)
        assert graph.neighbours("/c/en/same") == [loop]

    def test_relations_are_counted_by_type(self, graph: Graph) -> None:
        write(graph, DOG_IS_PET, DOG_BARKS, SENSE)
        assert graph.relations_by_type() == {"IsA": 2, "CapableOf": 1}

    @pytest.mark.parametrize("owner", ["/c/en/dog", DOG_BARKS.uri])
    def test_media_are_attached_once_and_replaced_whole(self, graph: Graph, owner: str) -> None:
        write(graph, DOG_BARKS)
        for _ in range(2):
            graph.attach({owner: [image("m/0.png"), image("m/1.png"), image("m/0.gif", "visual")]})
        assert graph.counts().media == 3
        graph.attach({owner: [image("m/1.png")]})
        assert graph.counts().media == 1

    def test_media_survive_the_relation_being_written_again(self, graph: Graph) -> None:
        write(graph, DOG_BARKS)
        graph.attach({DOG_BARKS.uri: [image("m/0.png")]})
        write(graph, DOG_BARKS._replace(weight=3.0))
        assert graph.counts().media == 1

    def test_it_is_all_there_after_opening_again(self, open_store: Callable[[], Graph]) -> None:
        first = open_store()
        write(first, DOG_IS_PET)
        first.close()
        second = open_store()
        assert second.neighbours("/c/en/dog") == [DOG_IS_PET]
        second.close()

    def test_the_ends_of_a_relation_are_made_with_it(self, graph: Graph) -> None:
        graph.write([], [DOG_BARKS])
        assert list(graph.entities()) == [Entity.of("/c/en/bark"), Entity.of("/c/en/dog")]

    @pytest.mark.parametrize(
        "name", ["o'neil", 'a"b', "back\\slash", "new\nline", "😀 ü", "'}) DETACH DELETE n //", ""]
    )
    def test_a_name_comes_back_unchanged(self, graph: Graph, name: str) -> None:
        entity = Entity("/c/en/dog", name, "en", "/c/en/dog", name or None)
        graph.write([entity], [])
        assert list(graph.entities()) == [entity]

    def test_everything_can_be_read(self, graph: Graph) -> None:
        write(graph, DOG_BARKS, SENSE, STRANGE)
        graph.attach({"/c/en/dog": DOG_MEDIA, DOG_BARKS.uri: [image("m/2.gif", "visual")]})
        entities = [Entity.of(end) for end in endpoints([DOG_BARKS, SENSE, STRANGE])]
        assert sorted(graph.entities()) == sorted(entities)
        assert sorted(graph.relations()) == sorted([DOG_BARKS, SENSE, STRANGE])
        assert graph.media_of(["/c/en/bark", DOG_BARKS.uri, "/c/en/dog", SENSE.uri]) == {
            "/c/en/dog": DOG_MEDIA,
            DOG_BARKS.uri: [image("m/2.gif", "visual")],
        }
        assert graph.media_of([]) == {}

    def test_reading_goes_page_by_page_and_misses_nothing(
        self, graph: Graph, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(sys.modules[type(graph).__module__], "PAGE", 2)
        relations = [relation("IsA", f"/c/en/{each}", "/c/en/x") for each in range(5)]
        write(graph, *relations)
        assert [each.uri for each in graph.entities()] == [
            *(each.start for each in relations),
            "/c/en/x",
        ]
        assert list(graph.relations()) == relations
        graph.clear()
        assert graph.counts() == (0, 0, 0)

    def test_it_knows_what_it_holds(self, graph: Graph) -> None:
        write(graph, DOG_BARKS, SENSE)
        graph.attach({"/c/en/dog": [image("m/0.png")]})
        there = [Entity.of("/c/en/dog"), Entity.of("/c/en/bark")]
        assert graph.holds([*there, Entity.of("/c/en/nobody")]) == 2
        assert graph.holds(relations=[DOG_BARKS, DOG_IS_PET, SENSE]) == 2
        assert graph.holds(media=[image("m/0.png"), image("m/1.png")]) == 1
        assert graph.holds() == 0

    def test_clear_tells_how_much_went(self, graph: Graph) -> None:
        write(graph, DOG_IS_PET)
        graph.attach({"/c/en/dog": [image("m/0.png")]})
        gone: list[int] = []
        graph.clear(gone.append)
        assert sum(gone) == 4

    def test_clear_leaves_nothing(self, graph: Graph) -> None:
        write(graph, DOG_IS_PET)
        graph.attach({"/c/en/dog": [image("m/0.png")]})
        graph.clear()
        graph.clear()
        assert graph.counts() == (0, 0, 0)

    def test_several_pages_are_written_at_once_and_what_is_new_is_counted(
        self, graph: Graph
    ) -> None:
        adder = Adder(graph)
        pages = [
            Page([Entity.of(end) for end in endpoints([each])], [each])
            for each in (DOG_IS_PET, DOG_BARKS, SENSE)
        ]
        adder(pages)
        adder(pages[:1])
        assert graph.counts() == (4, 3, 0)
        assert adder.written == 3

    # --- to whom it belongs ----------------------------------------------------------------

    def test_it_belongs_to_every_harvest_that_wrote_into_it(
        self, open_store: Callable[[], Graph]
    ) -> None:
        with closing(open_store()) as graph:
            assert graph.members.known() == {}
            for each in ("two", "one", "two"):
                graph.members.admit(each)
        with closing(open_store()) as graph:
            assert graph.members.known() == {"one": 0, "two": 0}
            graph.members.confirm("one")

    def test_it_knows_the_last_run_of_each_harvest(self, open_store: Callable[[], Graph]) -> None:
        with closing(open_store()) as graph:
            for harvest, run in (("one", 3), ("two", 1), ("one", 2), ("two", 4), ("one", 0)):
                graph.members.admit(harvest, run)
        with closing(open_store()) as graph:
            assert graph.members.known() == {"one": 3, "two": 4}

    def test_members_are_no_records(self, graph: Graph) -> None:
        graph.members.admit("one")
        assert graph.counts() == (0, 0, 0)
        assert list(graph.entities()) == [] and list(graph.relations()) == []
        gone: list[int] = []
        graph.clear(gone.append)
        assert sum(gone) == 0

    def test_a_graph_that_was_emptied_belongs_to_nobody(self, graph: Graph) -> None:
        graph.members.admit("one")
        graph.clear()
        assert graph.members.known() == {}
        with pytest.raises(StateDamaged):
            graph.members.confirm("one")

    def test_nobody_empties_it_while_somebody_writes(self, graph: Graph) -> None:
        with graph.members.at_work("one"):
            with graph.members.at_work("two"):
                pass
            with pytest.raises(AlreadyRunning), graph.members.nobody_at_work():
                pass
        with graph.members.nobody_at_work():
            pass
        assert graph.members.known() == {}, "who only began has written nothing"

    def test_a_sign_of_life_keeps_a_member_known(self, graph: Graph) -> None:
        with graph.members.at_work("one"):
            graph.members.admit("one")
            graph.members.confirm("one")
        assert graph.members.known() == {"one": 0}
        with graph.members.nobody_at_work():
            pass
