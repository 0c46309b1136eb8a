"""What the data behind the pages promises over any store. A test of a store subclasses this and
makes the graph."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from tests.support.store_contract import relation, write
from tools.add import Entity, Graph, Media
from tools.graphs.reader import FIRST, HEAVIEST, Reader
from tools.media.credits import Credit
from tools.sheets.concept import NEXT, concept, more
from tools.sheets.credits import credits_of
from tools.web.data import gallery, judgements, media_file, paths, search, statistics
from tools.web.data import neighbourhood as neighbours
from tools.web.data.gallery import Filter
from tools.web.data.growing import Grower
from tools.web.data.neighbourhood import neighbourhood
from tools.web.data.relations import every, type_page
from tools.web.data.relations import relation as one_relation
from tools.web.data.sidecar import NAME, Sidecar
from tools.web.explorer import Explorer
from tools.web.graph_data import ways

HASH = "{:02x}" * 32


def file(path: str, number: int = 1, kind: str = "image", **more_: object) -> Media:
    mime = {"image": "image/png", "visual": "image/gif", "audio": "audio/ogg"}[kind]
    width, height, length = (None, None, 3.0) if kind == "audio" else (640, 480, None)
    made = Media(
        path, kind, mime, HASH.format(*([number] * 32)), 1000 + number, width, height, length,
        "cc-by-4.0", "https://example.org/by", "Ada", "https://example.org/page", "https://example.org/0.png",
        "commons", f"Title {number}", None, f"2026-01-01T00:00:{number % 60:02}+00:00",
    )  # fmt: skip
    return made._replace(**more_)  # type: ignore[arg-type]


BARKS = relation("CapableOf", "/c/en/dog", "/c/en/bark", 2.5)
PET = relation("IsA", "/c/en/dog", "/c/en/pet", 3.0)
POODLE = relation("IsA", "/c/en/poodle", "/c/en/dog", 1.5)
HOT_DOG = relation("IsA", "/c/en/hot_dog", "/c/en/food")
PUPPY = relation("IsA", "/c/ja/子犬", "/c/ja/犬")
NOISE = relation("IsA", "/c/en/bark", "/c/en/noise")
THUNDER = relation("IsA", "/c/en/thunder", "/c/en/noise")
SCRIPT = "/c/en/<script>alert(1)</script>"
ARABIC = relation("IsA", "/c/ar/كلب", "/c/ar/حيوان")
LONG = "/c/en/" + "long_" * 60
STRANGE = relation("HasA", "/c/en/o'neil\\\"s", "/c/en/*_or_near(dog)", 0.5)
SLIPS = {
    "elehpant": "elephant",
    "elefant": "elephant",
    "tunder": "thunder",
    "huose": "house",
    "bycicle": "bicycle",
    "swiming pool": "swimming pool",
    "swimmingpool": "swimming pool",
    "resturant": "restaurant",
    "restuarant": "restaurant",
    "Resaurant": "restaurant",
    "dgo": "dog",
    "сабака": "собака",
    "rod grød": "rød grød",
}
RELATIONS = (BARKS, PET, POODLE, HOT_DOG, PUPPY, NOISE, THUNDER, ARABIC, STRANGE)
MEDIA = {
    "/c/en/dog": [
        file("en/dog/image/1.png", 1),
        file("en/dog/image/0.png", 2),
        file("en/dog/visual/0.gif", 3, "visual", provider="giphy"),
        file("en/dog/audio/0.ogg", 4, "audio", license="cc0-1.0", remark="show the logo"),
    ],
    "/c/en/bark": [file("en/bark/image/0.png", 5)],
    "/c/ja/犬": [file("ja/犬/image/0.png", 6)],
    BARKS.uri: [file("[@r@CapableOf]/visual/0.gif", 7, "visual", width=1200)],
}


def fill(graph: Graph) -> None:
    write(graph, *RELATIONS)
    graph.write([Entity.of(SCRIPT), Entity.of(LONG), Entity.of("/c/en/dogma")], ())
    graph.attach(MEDIA)


def crowd(number: int, is_outward: bool = True) -> list[object]:
    ends = [("/c/en/crowd", f"/c/en/one_{at:04}") for at in range(number)]
    pairs = ends if is_outward else [(end, start) for start, end in ends]
    return [relation("HasA", *pair, at / 10) for at, pair in enumerate(pairs)]


def grow(reader: Reader, sidecar: Sidecar) -> Grower:
    grower = Grower(reader, sidecar)
    while grower.step():
        pass
    assert grower.is_whole()
    return grower


class DataContract:
    """Subclasses give `open_store`, which opens one store to write again and again, and
    `open_data`, which opens the same to read."""

    @pytest.fixture
    def graph(self, open_store: Callable[[], Graph]) -> Iterator[Graph]:
        with closing(open_store()) as graph:
            fill(graph)
            yield graph

    @pytest.fixture
    def reader(self, graph: Graph, open_data: Callable[[], Reader]) -> Iterator[Reader]:
        with closing(open_data()) as reader:
            yield reader

    @pytest.fixture
    def sidecar(self, tmp_path: Path) -> Iterator[Sidecar]:
        with closing(Sidecar(tmp_path / NAME)) as sidecar:
            yield sidecar

    @pytest.fixture
    def grown(self, reader: Reader, sidecar: Sidecar) -> Grower:
        return grow(reader, sidecar)

    # --- search ------------------------------------------------------------------------------

    def found(self, reader: Reader, sidecar: Sidecar, text: str, *languages: str) -> list[str]:
        return [each.uri for each in search.find(reader, sidecar, text, languages)]

    def test_what_was_typed_then_what_begins_so_then_what_has_such_a_word(
        self, reader: Reader, sidecar: Sidecar, grown: Grower
    ) -> None:
        found = self.found(reader, sidecar, "dog")
        assert found[:2] == ["/c/en/dog", "/c/en/dogma"]
        assert set(found[2:]) == {"/c/en/hot_dog", "/c/en/*_or_near(dog)"}
        assert self.found(reader, sidecar, "hot d") == ["/c/en/hot_dog"]
        assert self.found(reader, sidecar, "DO")[0] == "/c/en/dog"
        assert "/c/en/dog" in self.found(reader, sidecar, "d")

    def test_any_script_is_found_and_languages_are_told_apart(
        self, reader: Reader, sidecar: Sidecar, grown: Grower
    ) -> None:
        assert self.found(reader, sidecar, "犬") == ["/c/ja/犬", "/c/ja/子犬"]
        assert self.found(reader, sidecar, "犬", "en") == []
        assert self.found(reader, sidecar, "dog", "en", "ja")[0] == "/c/en/dog"
        assert self.found(reader, sidecar, "كلب") == ["/c/ar/كلب"]
        assert self.found(reader, sidecar, "long " * 60) == [LONG]

    @pytest.mark.parametrize(
        ("text", "uri"),
        [
            ("cat's cradle", "/c/en/cat's_cradle"),
            ("cradle cat's", "/c/en/cat's_cradle"),
            ("d.c", "/c/en/washington_d.c"),
            ("子犬", "/c/ja/小さな子犬"),
            ("हिन्दी", "/c/hi/मानक_हिन्दी"),
            ("भाषा हि", "/c/hi/हिन्दी_भाषा"),
            ("cafe", "/c/fr/café"),
            ("CAFÉ", "/c/fr/café"),
            ("cafe au", "/c/fr/un_café_au_lait"),
        ],
    )
    def test_words_are_found_however_they_are_written(
        self, graph: Graph, reader: Reader, sidecar: Sidecar, grown: Grower, text: str, uri: str
    ) -> None:
        graph.write([Entity.of(uri)], ())
        while grown.step():
            pass
        assert uri in self.found(reader, sidecar, text)

    def test_the_best_connected_comes_first_however_many_there_are(
        self, graph: Graph, reader: Reader, sidecar: Sidecar, grown: Grower
    ) -> None:
        graph.write([Entity.of(f"/c/en/mass_{at:04}") for at in range(2_500)], ())
        for late in ("/c/en/mass_zone", "/c/en/zone_of_mass"):
            write(graph, *(relation("IsA", late, f"/c/en/{end}") for end in ("pet", "food")))
        while grown.step():
            pass
        assert self.found(reader, sidecar, "mass")[0] == "/c/en/mass_zone"
        assert self.found(reader, sidecar, "of mass")[0] == "/c/en/zone_of_mass"
        assert self.found(reader, sidecar, "mas")[0] == "/c/en/mass_zone"

    @pytest.mark.parametrize(
        "text",
        ["", " ", '"', "*", "NEAR(dog", "a OR", "^", "-", "'; DROP TABLE concept; --", "\x00",
         "\ud800", "dog\u202e", "a:b", "[[", "x" * 5000, "~!@#$%^&*()_+{}|:<>?", "AND", "\\"],
    )  # fmt: skip
    def test_a_hostile_question_is_text(
        self, reader: Reader, sidecar: Sidecar, grown: Grower, text: str
    ) -> None:
        assert len(self.found(reader, sidecar, text)) <= search.LIMIT
        assert self.found(reader, sidecar, "dog")[0] == "/c/en/dog"

    def test_markup_is_a_name(self, reader: Reader, sidecar: Sidecar, grown: Grower) -> None:
        assert self.found(reader, sidecar, "<script>alert(1)<") == [SCRIPT]
        assert self.found(reader, sidecar, "<script>al") == [SCRIPT]

    def test_nearly_right_is_helped(self, reader: Reader, sidecar: Sidecar, grown: Grower) -> None:
        assert self.found(reader, sidecar, "thundar") == []
        assert search.did_you_mean(reader, sidecar, "thundar") == "thunder"
        assert search.did_you_mean(reader, sidecar, "qqqq") is None

    def test_one_slip_anywhere_is_helped(
        self, graph: Graph, reader: Reader, sidecar: Sidecar
    ) -> None:
        names = {name.replace(" ", "_") for name in SLIPS.values()}
        write(graph, *(relation("IsA", f"/c/en/{name}", "/c/en/noise") for name in sorted(names)))
        grow(reader, sidecar)
        found = {slip: search.did_you_mean(reader, sidecar, slip) for slip in SLIPS}
        assert found == SLIPS
        assert search.did_you_mean(reader, sidecar, "dgo", ["ja"]) is None
        assert search.did_you_mean(reader, sidecar, "犬子") == "子犬"
        for strange in ("", " ", "\ud800\x00", "-" * 5000, '"]', "%"):
            search.did_you_mean(reader, sidecar, strange)

    def test_of_many_that_may_be_meant_it_is_the_best_connected(
        self, graph: Graph, reader: Reader, sidecar: Sidecar
    ) -> None:
        write(graph, *(relation("IsA", f"/c/en/bod_{at}", "/c/en/bod") for at in range(9)))
        grow(reader, sidecar)
        assert search.did_you_mean(reader, sidecar, "bog") == "bod"
        assert search.did_you_mean(reader, sidecar, "odg") == "dog"

    # --- a concept ---------------------------------------------------------------------------

    def test_a_concept_is_grouped_in_words_both_ways(self, reader: Reader) -> None:
        dog = concept(reader, "/c/en/dog")
        assert dog is not None
        assert (dog.entity.name, dog.degree, dog.is_by_weight) == ("dog", 3, True)
        shown = {each.heading: [line.name for line in each.lines] for each in dog.groups}
        assert shown == {
            "dog is a kind of …": ["pet"],
            "dog is capable of …": ["bark"],
            "… is a kind of dog": ["poodle"],
        }
        assert dog.groups[0].heading == "dog is a kind of …"  # the heaviest

    def test_with_its_files_and_those_of_its_relations(self, reader: Reader) -> None:
        dog = concept(reader, "/c/en/dog")
        assert dog is not None
        by_kind = [
            each
            for kind in ("image", "audio", "visual")
            for each in MEDIA["/c/en/dog"]
            if each.kind == kind
        ]
        assert list(dog.media) == by_kind
        [barks] = [line for group in dog.groups for line in group.lines if line.name == "bark"]
        assert list(barks.media) == MEDIA[BARKS.uri]
        assert barks.picture == MEDIA["/c/en/bark"][0]
        assert barks.sentence == "dog is capable of bark"

    def test_a_large_group_goes_on_by_key(self, graph: Graph, reader: Reader) -> None:
        write(graph, *crowd(150))  # type: ignore[arg-type]
        page = concept(reader, "/c/en/crowd")
        assert page is not None
        [group] = page.groups
        seen = [line.other for line in group.lines]
        while group.after is not None:
            following = more(reader, "/c/en/crowd", "HasA", True, group.after)
            assert following is not None
            assert len(following.lines) <= NEXT
            group = following
            seen += [line.other for line in group.lines]
        assert seen == [f"/c/en/one_{at:04}" for at in reversed(range(150))]  # the heaviest first

    @pytest.mark.parametrize("is_outward", [True, False])
    def test_a_crowded_concept_stands_by_key_and_is_whole(
        self, graph: Graph, reader: Reader, monkeypatch: pytest.MonkeyPatch, is_outward: bool
    ) -> None:
        """And a sense of it, whose relations are its own."""
        monkeypatch.setattr("tools.sheets.concept.BY_WEIGHT", 50)
        write(graph, *crowd(100, is_outward), relation("HasA", "/c/en/crowd/n", "/c/en/sense", 9.0))  # type: ignore[arg-type]
        page = concept(reader, "/c/en/crowd")
        assert page is not None
        assert not page.is_by_weight
        [group] = page.groups
        seen = [line.other for line in group.lines]
        while group.after is not None:
            following = more(reader, "/c/en/crowd", "HasA", is_outward, group.after)
            assert following is not None
            group = following
            seen += [line.other for line in group.lines]
        assert seen == [f"/c/en/one_{at:04}" for at in range(100)]

    @pytest.mark.parametrize("name", ["/c/en/nobody", "", "'}) DETACH DELETE n //", "\ud800", "\0"])
    def test_what_is_not_there_is_nothing(self, reader: Reader, name: str) -> None:
        assert concept(reader, name) is None
        assert more(reader, name, "IsA", True, FIRST) is None
        assert neighbourhood(reader, name) is None
        assert one_relation(reader, name) is None
        assert paths.paths(reader, name, "/c/en/dog") is None
        assert list(type_page(reader, name, None).relations) == []

    def test_credits_can_be_copied(self, reader: Reader) -> None:
        dog = concept(reader, "/c/en/dog")
        assert dog is not None
        given = credits_of(dog.files)
        owners = [line for line in given.text.splitlines() if line.startswith("/")]
        assert owners == ["/c/en/dog", BARKS.uri]
        assert '"Title 1" by Ada, CC BY 4.0' in given.text
        assert given.bibtex.count("@misc{") == len(dog.files) == 5
        first = (
            '<p>"<a href="https://example.org/page">Title 1</a>" by Ada, '
            '<a href="https://example.org/by">CC BY 4.0</a></p>'
        )
        assert given.html.splitlines()[0] == first
        assert given.html.count("show the logo") == 1

    def test_credits_as_bibtex_keep_addresses_and_have_a_key_each(self) -> None:
        page = "https://x.example/a_b?c=1&d=50%25#e~{\\f} g^"
        media = file("x.png", title="~/{a}^2 \\input_\x00", page=page)
        other = media._replace(title="Other")
        bibtex = credits_of([Credit("x", each) for each in (media, media, other)]).bibtex
        assert bibtex.count("@misc{") == 2
        assert bibtex.count("@misc{010101010101,") == bibtex.count("@misc{010101010101-2,") == 1
        assert "title = {\\textasciitilde{}/ a \\textasciicircum{}2 input\\_}," in bibtex
        assert "url = {https://x.example/a_b?c=1&d=50%25#e~%7B%5Cf%7D%20g%5E}," in bibtex

    def test_credits_of_strangers_are_no_markup(self) -> None:
        strange = '"></textarea><script>alert(1)</script>\x00\u202e'
        media = file("x.png", title=strange, author=strange, remark=strange, page="data:,x")
        elsewhere = media._replace(page=f"https://x/{strange}")
        html = credits_of([Credit("x", each) for each in (media, elsewhere)]).html
        assert "<script" not in html and "</textarea" not in html and "data:" not in html
        assert "\u202e" not in html and "\x00" not in html
        assert html.count('href="') == 3 and 'href="https://x/&quot;&gt;' in html

    # --- neighbourhood, relations, paths -----------------------------------------------------

    def test_a_neighbourhood_has_pictures_and_choices(self, reader: Reader) -> None:
        around = neighbourhood(reader, "/c/en/dog")
        assert around is not None
        assert {each.name for each in around.nodes} == {"dog", "bark", "pet", "poodle"}
        pictures = {each.name: each.picture and each.picture.path for each in around.nodes}
        assert pictures["dog"] == "en/dog/image/1.png"
        assert pictures["pet"] is None
        assert {(each.source, each.target) for each in around.edges} == {
            (each.start, each.end) for each in (BARKS, PET, POODLE)
        }
        assert [(each.type, each.number) for each in around.types] == [("IsA", 2), ("CapableOf", 1)]
        assert around.left_out == 0

    def test_it_is_filtered_and_bounded(self, graph: Graph, reader: Reader) -> None:
        def names(**how: object) -> set[str]:
            around = neighbourhood(reader, "/c/en/dog", **how)  # type: ignore[arg-type]
            assert around is not None
            return {each.name for each in around.nodes}

        assert names(types=["CapableOf"]) == {"dog", "bark"}
        assert names(least_weight=2.0) == {"dog", "bark", "pet"}
        assert names(nodes=1) == {"dog", "pet"}
        assert names(nodes=1, known=["/c/en/pet"]) == {"dog", "pet", "bark"}
        write(graph, *crowd(400))  # type: ignore[arg-type]
        crowded = neighbourhood(reader, "/c/en/crowd", nodes=10_000)
        assert crowded is not None
        assert len(crowded.nodes) == 151
        assert (crowded.left_out, crowded.is_exact) == (250, True)

    def test_who_is_left_out_is_counted_once_and_by_the_filters(
        self, graph: Graph, reader: Reader, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def left_out(**how: Any) -> tuple[int, bool]:
            around = neighbours.neighbourhood(reader, "/c/en/crowd", **how)
            assert around is not None
            return around.left_out, around.is_exact

        others = [("MadeOf", "/c/en/crowd", f"/c/en/one_{at:04}", at / 10) for at in range(400)]
        loop = relation("HasA", "/c/en/crowd", "/c/en/crowd", 99.0)
        write(graph, *crowd(400), *(relation(*each) for each in others), loop)  # type: ignore[arg-type]
        assert left_out(nodes=100) == (300, True)
        assert left_out(nodes=100, least_weight=20.0) == (100, True)
        assert left_out(nodes=100, least_weight=35.0) == (0, True)
        assert left_out(nodes=100, types=["MadeOf"], known=["/c/en/one_0001"]) == (299, True)
        monkeypatch.setattr(neighbours, "BY_WEIGHT", 500)
        monkeypatch.setattr(neighbours, "READ", 300)
        assert left_out(nodes=30) == (70, False), "of each type and direction a hundred are known"

    def test_neighbours_are_joined_among_each_other(self, graph: Graph, reader: Reader) -> None:
        """And to what is on the page already; by the filters, and with the types that come in."""

        def edges(**how: Any) -> set[str]:
            around = neighbourhood(reader, "/c/en/dog", **how)
            assert around is not None
            return {each.uri for each in around.edges}

        own = {each.uri for each in (BARKS, PET, POODLE)}
        light = relation("HasA", "/c/en/pet", "/c/en/poodle", 0.5)
        heavy = relation("MadeOf", "/c/en/poodle", "/c/en/pet", 2.0)
        write(graph, light, heavy)
        assert edges() == own | {light.uri, heavy.uri}
        assert edges(least_weight=2.0) == {BARKS.uri, PET.uri}
        assert edges(types=["IsA", "MadeOf"]) == {PET.uri, POODLE.uri, heavy.uri}
        known = {"known": ["/c/en/noise", "/c/en/pet", "/c/en/nobody"], "nodes": 1}
        assert edges(**known) == {BARKS.uri, PET.uri, NOISE.uri}
        around = neighbourhood(reader, "/c/en/dog")
        assert around is not None
        assert [tuple(each) for each in around.types] == [
            ("IsA", "is a kind of", 2),
            ("CapableOf", "is capable of", 1),
            ("HasA", "has", 0),
            ("MadeOf", "is made of", 0),
        ]

    def test_two_steps_around_it(
        self, graph: Graph, reader: Reader, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def names(**how: Any) -> set[str]:
            around = neighbourhood(reader, "/c/en/dog", depth=2, **how)
            assert around is not None
            return {each.name for each in around.nodes}

        near = {"dog", "bark", "pet", "poodle"}
        toys = [relation("HasA", "/c/en/poodle", f"/c/en/toy_{at}", 9.0 - at) for at in range(3)]
        write(graph, *toys)
        assert names() == near | {"noise", "toy 0", "toy 1", "toy 2"}
        assert names(types=["IsA"]) == near - {"bark"}
        assert names(least_weight=1.5) == near | {"toy 0", "toy 1", "toy 2"}
        assert names(nodes=1) == {"dog", "pet"}
        monkeypatch.setattr(neighbours, "FAR", 2)
        assert names() == near | {"toy 0", "noise"}, "of each one its heaviest"

    def test_of_a_crowd_some_are_looked_at(
        self, graph: Graph, reader: Reader, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        write(graph, *crowd(400), *crowd(400, is_outward=False))  # type: ignore[arg-type]
        assert len(reader.links(["/c/en/crowd"], 100)) == 200
        only = ["/c/en/one_0000", "/c/en/one_0399"]
        found = reader.links(["/c/en/crowd"], 1000, ["HasA"], only)
        assert sorted(each.there for each in found) == sorted(only * 2)
        assert reader.links(["/c/en/crowd"], 1000, ["IsA"], only) == []
        joins = relation("MadeOf", "/c/en/one_0398", "/c/en/crowd")
        write(graph, joins, relation("MadeOf", "/c/en/one_0398", "/c/en/sole"))
        monkeypatch.setattr(neighbours, "LOOKED_AT", 200)
        around = neighbourhood(reader, "/c/en/sole", known=["/c/en/crowd"])
        assert around is not None
        assert joins.uri in {each.uri for each in around.edges}, "known from the other end"

    def test_a_relation_and_its_type(self, reader: Reader) -> None:
        shown = one_relation(reader, BARKS.uri)
        assert shown is not None
        assert (shown.sentence, shown.relation) == ("dog is capable of bark", BARKS)
        assert list(shown.media) == MEDIA[BARKS.uri]
        page = type_page(reader, "IsA", None)
        wanted = sorted(each.uri for each in RELATIONS if each.type == "IsA")
        assert [each.relation.uri for each in page.relations] == wanted
        assert page.after == ""

    def test_every_relation_of_a_concept_is_read_once(
        self, graph: Graph, reader: Reader, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        loop = relation("HasA", "/c/en/crowd", "/c/en/crowd", 99.0)
        some = [*crowd(25), *crowd(25, is_outward=False), loop]
        write(graph, *some)  # type: ignore[arg-type]
        monkeypatch.setattr("tools.web.data.relations.STRETCH", 10)
        found = list(every(reader, "/c/en/crowd"))
        assert sorted(found) == sorted(some)  # type: ignore[type-var]
        assert list(every(reader, "/c/en/nobody")) == []

    def test_a_type_goes_on_by_key(self, graph: Graph, reader: Reader) -> None:
        write(graph, *crowd(100))  # type: ignore[arg-type]
        first = type_page(reader, "HasA", None)
        second = type_page(reader, "HasA", None, first.after)
        seen = [each.relation.uri for page in (first, second) for each in page.relations]
        assert (len(first.relations), len(seen), second.after) == (60, 101, "")
        assert seen == sorted(seen)

    def test_a_type_begins_with_the_heaviest(
        self, graph: Graph, reader: Reader, tmp_path: Path
    ) -> None:
        """As they were counted; who is gone since then is left out."""
        write(graph, *crowd(100))  # type: ignore[arg-type]
        counted = statistics.count(reader, tmp_path)
        (share,) = (each for each in counted.types if each.type == "HasA")
        assert len(share.heaviest) == HEAVIEST
        gone = share._replace(heaviest=[*share.heaviest, "/a/[/r/HasA/,/c/en/x/,/c/en/y/]"])
        page = type_page(reader, "HasA", replace(counted, types=[gone]))
        weights = [each.relation.weight for each in page.heaviest]
        assert [each.relation.uri for each in page.heaviest] == share.heaviest
        assert weights == sorted(weights, reverse=True)
        assert weights[-1] >= max(
            each.relation.weight for each in page.relations if each not in page.heaviest
        )
        assert not type_page(reader, "HasA", counted, page.after).heaviest

    def test_a_shortest_path_is_found_either_way_round(self, reader: Reader) -> None:
        found = paths.paths(reader, "/c/en/pet", "/c/en/thunder")
        assert found is not None
        [path] = found.paths
        assert [each.name for each in path.nodes] == ["pet", "dog", "bark", "noise", "thunder"]
        assert [each.uri for each in path.edges] == [PET.uri, BARKS.uri, NOISE.uri, THUNDER.uri]
        assert found.is_complete
        assert path.nodes[1].picture is not None

    def test_no_path_is_no_path(self, reader: Reader) -> None:
        found = paths.paths(reader, "/c/en/dog", "/c/ja/犬")
        assert found is not None
        assert (list(found.paths), found.is_complete) == ([], True)
        same = paths.paths(reader, "/c/en/dog", "/c/en/dog")
        assert same is not None
        assert [len(each.nodes) for each in same.paths] == [1]

    def test_all_shortest_ones_the_heaviest_first(self, graph: Graph, reader: Reader) -> None:
        light = relation("PartOf", "/c/en/pet", "/c/en/dog", 0.1)
        cat = [relation("IsA", "/c/en/cat", "/c/en/pet", 9.0)]
        write(graph, light, *cat)
        found = paths.paths(reader, "/c/en/cat", "/c/en/dog")
        assert found is not None
        assert [path.edges[1].uri for path in found.paths] == [PET.uri, light.uri]

    def test_a_search_for_paths_has_an_end(self, graph: Graph, reader: Reader) -> None:
        found = paths.paths(reader, "/c/en/pet", "/c/en/thunder", seconds=0.0)
        assert found is not None
        assert (list(found.paths), found.is_complete) == ([], False)
        found = paths.paths(reader, "/c/en/pet", "/c/en/thunder", longest=3)
        assert found is not None
        assert list(found.paths) == []

    def test_a_name_means_the_english_concept_before_any_other(
        self, graph: Graph, reader: Reader
    ) -> None:
        """However many languages come before it."""
        others = [f"/c/{first}{second}/taxi" for first in "abcd" for second in "abcdefgh"]
        graph.write([Entity.of(each) for each in (*others, "/c/en/taxi", "/c/en/taxi/n")], ())
        explorer = cast(Explorer, SimpleNamespace(reader=reader))
        for typed in ("taxi", "Taxi", " TAXI ", "/c/en/taxi", "/c/en/taxi/", "a taxi"):
            found = ways(explorer, {"from": typed, "to": typed})["found"]
            assert [path.nodes[0].uri for path in found.paths] == ["/c/en/taxi"], typed
        for typed, wanted in (("犬", "/c/ja/犬"), ("hot_dog", "/c/en/hot_dog"), (SCRIPT, SCRIPT)):
            found = ways(explorer, {"from": typed, "to": typed})["found"]
            assert [path.nodes[0].uri for path in found.paths] == [wanted]
        missing = ways(explorer, {"from": "dog", "to": "nobody"})
        assert (missing["found"], missing["sentence"]) == (None, "There is no concept 'nobody'.")

    def test_the_heaviest_of_many_ways_is_found_in_time(
        self, graph: Graph, reader: Reader, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """The last ones are the heaviest."""
        out = [relation("HasA", "/c/en/a", f"/c/en/m{at:03}", at / 10) for at in range(400)]
        back = [relation("HasA", f"/c/en/m{at:03}", "/c/en/z", 1.0) for at in range(400)]
        write(graph, *out, *back)

        def found() -> tuple[list[str], bool]:
            answer = paths.paths(reader, "/c/en/a", "/c/en/z")
            assert answer is not None
            return [path.nodes[1].name for path in answer.paths], answer.is_complete

        assert found() == (["m399", "m398", "m397", "m396", "m395", "m394"], True)
        joined, made = paths._joined, list[object]()

        def counted(*sides: Any) -> Iterator[Any]:
            for way in joined(*sides):
                made.append(way)
                yield way

        monkeypatch.setattr(paths, "_joined", counted)
        monkeypatch.setattr(paths, "AT_LEAST", 3)
        monkeypatch.setattr(paths._Search, "is_late", lambda search: bool(made))
        assert found() == (["m002", "m001", "m000"], False)
        assert len(made) == 4

    # --- files -------------------------------------------------------------------------------

    def shown(self, reader: Reader, sidecar: Sidecar, **wanted: str) -> list[str]:
        page = gallery.page(reader, sidecar, Filter(**wanted))
        return [each.media.title or "" for each in page.files]

    def test_the_gallery_shows_the_latest_first_and_filters(
        self, reader: Reader, sidecar: Sidecar, grown: Grower
    ) -> None:
        def numbers(**wanted: str) -> str:
            shown = self.shown(reader, sidecar, **wanted)
            return "".join(each.removeprefix("Title ") for each in shown)

        assert numbers() == "7654321"
        assert numbers(kind="visual") == "73"
        assert numbers(kind="visual", provider="giphy") == "3"
        assert numbers(licence="CC0 1.0") == "4"
        assert numbers(language="ja") == "6"
        assert numbers(type="CapableOf") == "7"
        assert numbers(type="-") == "654321"
        assert numbers(size="large") == "7"
        assert numbers(kind="audio", size="small") == ""
        assert numbers(remark="yes") == "4"
        assert numbers(remark="-", kind="audio") == ""
        assert numbers(kind="'; DROP TABLE file; --") == ""

    def test_filters_say_how_many_they_leave(
        self, reader: Reader, sidecar: Sidecar, grown: Grower
    ) -> None:
        facets = gallery.facets(sidecar, Filter(kind="image"))
        assert facets.total == 4
        assert {each.value: each.number for each in facets.choices["kind"]} == {
            "image": 4, "visual": 2, "audio": 1,
        }  # fmt: skip
        assert {each.value: each.number for each in facets.choices["language"]} == {
            "en": 3,
            "ja": 1,
        }

    def test_a_page_follows_by_key(self, graph: Graph, reader: Reader, sidecar: Sidecar) -> None:
        graph.attach({"/c/en/pet": [file(f"en/pet/image/{at:03}.png", at) for at in range(150)]})
        grower = Grower(reader, sidecar)
        while grower.step():
            pass
        for filter_ in (Filter(), Filter(kind="image")):
            seen, after, pages = list[str](), "", 0
            while not pages or after:
                page = gallery.page(reader, sidecar, filter_, after)
                seen, after, pages = (
                    [*seen, *(f.media.path for f in page.files)],
                    page.after,
                    pages + 1,
                )
            wanted = 157 if filter_ == Filter() else 154
            assert (len(seen), len(set(seen)), pages) == (wanted, wanted, 3)
        assert list(gallery.page(reader, sidecar, Filter(), "nonsense").files) == list(
            gallery.page(reader, sidecar, Filter()).files
        )

    def test_what_is_judged_is_passed_over_by_key(
        self, graph: Graph, reader: Reader, sidecar: Sidecar, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Nothing twice, nothing missing; a page looks at so many files and no more."""
        hashes = [f"{at:015x}".ljust(64, "0") for at in range(300)]
        pets = [f"en/pet/image/{at:03}.png" for at in range(300)]
        files = [file(each, sha256=hashes[at]) for at, each in enumerate(pets)]
        graph.attach({"/c/en/pet": files})
        grower = Grower(reader, sidecar)
        while grower.step():
            pass
        judged = frozenset(hashes[50:290])
        for looked_at in (3_000, 60):
            monkeypatch.setattr(gallery, "LOOKED_AT", looked_at)
            for filter_, others in ((Filter(), 7), (Filter(kind="image"), 4)):
                seen, after, pages = list[str](), "", 0
                while not pages or after:
                    page = gallery.page(reader, sidecar, filter_, after, judged)
                    assert len(page.files) <= 60
                    seen += [each.media.sha256 for each in page.files]
                    after, pages = page.after, pages + 1
                assert not {*seen} & judged
                assert len(seen) == len({*seen}) == 60 + others
                assert (pages == 2) == (looked_at == 3_000)

    def test_judged_ones_in_the_order_of_judgements_and_by_the_other_filters(
        self, reader: Reader, sidecar: Sidecar, grown: Grower, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(gallery, "PAGE", 2)
        order = (3, 1, 4, 99, 7, 2)
        judged = [(9 - at, HASH.format(*([number] * 32))) for at, number in enumerate(order)]

        def shown(filter_: Filter) -> str:
            seen, after, pages = "", "", 0
            while not pages or after:
                page = gallery.judged_page(reader, sidecar, judged, filter_, after)
                seen += "".join((each.media.title or "")[-1] for each in page.files)
                after, pages = page.after, pages + 1
            return seen

        assert shown(Filter()) == "31472"
        assert shown(Filter(kind="visual")) == "37"
        assert shown(Filter(remark="yes")) == "4"
        assert shown(Filter(type="-")) == "3142"
        first = gallery.judged_page(reader, sidecar, judged)
        del judged[1]  # the last one of that page is judged otherwise meanwhile
        second = gallery.judged_page(reader, sidecar, judged, None, first.after)
        assert [(each.media.title or "")[-1] for each in second.files] == ["4", "7"]
        for nonsense in ("x", "-1", "9" * 40, "٣"):
            again = gallery.judged_page(reader, sidecar, judged, None, nonsense)
            assert [(each.media.title or "")[-1] for each in again.files] == ["3", "4"]

    def test_what_is_passed_over_is_passed_in_few_rounds(
        self, graph: Graph, reader: Reader, sidecar: Sidecar, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Each looks at the beginning of every bucket."""
        files = [file(f"en/pet/image/{at:03}.png", at % 60) for at in range(500)]
        graph.attach({"/c/en/pet": files})
        grower = Grower(reader, sidecar)
        while grower.step():
            pass
        asked, filtered = list[int](), gallery._filtered

        def counted(*given: Any) -> list[gallery.Row]:
            asked.append(given[-1])
            return filtered(*given)

        monkeypatch.setattr(gallery, "_filtered", counted)
        hashes = {each.sha256 for each in files}
        page = gallery.page(reader, sidecar, Filter(kind="image"), "", hashes)
        assert (list(page.files), page.after, asked) == ([], "", [60, 120, 240, 480])
        assert sum(gallery._rounds()) == gallery.LOOKED_AT

    def test_what_changes_in_the_graph_changes_in_the_search(
        self, graph: Graph, reader: Reader, sidecar: Sidecar, grown: Grower
    ) -> None:
        graph.attach({"/c/en/dog": [file("en/dog/image/9.png", 9)]})
        write(graph, relation("IsA", "/c/en/dogfish", "/c/en/fish"))
        while grown.step():
            pass
        assert self.shown(reader, sidecar) == ["Title 9", "Title 7", "Title 6", "Title 5"]
        assert gallery.facets(sidecar, Filter()).total == 4
        assert "/c/en/dogfish" in self.found(reader, sidecar, "dogf")
        graph.clear()
        write(graph, BARKS)
        while grown.step():
            pass
        assert self.found(reader, sidecar, "pet") == []
        write(graph, *(relation("IsA", f"/c/en/zebra_{at}", "/c/en/zoo") for at in range(20)))
        while grown.step():
            pass
        for gone in ("dogma", "dogfish", "food", "hot", "poodle", "thunder", "noise"):
            assert self.found(reader, sidecar, gone) == []
        assert gallery.facets(sidecar, Filter()).total == 0

    def test_a_file_is_found_by_its_hash_and_lies_inside(
        self, graph: Graph, reader: Reader, sidecar: Sidecar, tmp_path: Path
    ) -> None:
        folder, outside = tmp_path / "m", tmp_path / "secret.png"
        outside.write_bytes(b"secret")
        (folder / "en/dog/image").mkdir(parents=True)
        (folder / "en/dog/image/1.png").write_bytes(b"a picture")
        (folder / "link.png").symlink_to(outside)
        (folder / "folder.png").mkdir()
        hostile = {"../secret.png": 20, "link.png": 21, str(outside): 22, "folder.png": 23}
        graph.attach({"/c/en/pet": [file(path, at) for path, at in hostile.items()]})
        grower = Grower(reader, sidecar)
        while grower.step():
            pass
        good = media_file.by_path(reader, folder, "en/dog/image/1.png")
        assert good is not None
        assert (good.place.read_bytes(), good.mime) == (b"a picture", "image/png")
        assert media_file.records_of(reader, sidecar, HASH.format(*([1] * 32))) == [good.file]
        for path in hostile:
            assert media_file.by_path(reader, folder, path) is None
        for unknown in ("en/dog/image/../image/1.png", "secret.png", "\0", "", "\ud800"):
            assert media_file.by_path(reader, folder, unknown) is None
        for no_hash in ("", "00", "ff" * 32, "../" * 20, "A" * 64):
            assert media_file.records_of(reader, sidecar, no_hash) == []

    def test_a_type_that_is_not_ours_is_only_bytes(
        self, graph: Graph, reader: Reader, tmp_path: Path
    ) -> None:
        (tmp_path / "page.html").write_bytes(b"<script>")
        graph.attach({"/c/en/pet": [file("page.html", mime="text/html")]})
        found = media_file.by_path(reader, tmp_path, "page.html")
        assert found is not None
        assert found.mime == "application/octet-stream"

    # --- figures -----------------------------------------------------------------------------

    def test_statistics(self, reader: Reader, tmp_path: Path) -> None:
        judgements.judge(tmp_path, HASH.format(*([1] * 32)), "good")
        found = statistics.count(reader, tmp_path)
        concepts = 17
        assert (found.concepts, found.relations, found.files) == (concepts, 9, 7)
        assert found.concept_coverage["image"].number == 3
        assert found.concept_coverage["any"].percent == statistics.percent(3, concepts)
        assert found.relation_coverage["visual"].number == 1
        assert {each.name: each.number for each in found.kinds} == {
            "image": 4,
            "gif": 2,
            "sound": 1,
        }
        assert {each.name: each.number for each in found.providers} == {"commons": 6, "giphy": 1}
        assert [each.name for each in found.licences] == ["CC BY 4.0", "CC0 1.0"]
        assert {each.name: each.number for each in found.languages} == {"en": 13, "ja": 2, "ar": 2}
        assert (found.owners, found.files_an_owner, found.most_files) == (4, 1.75, 4)
        by_type = {each.type: each for each in found.types}
        assert by_type["IsA"].number == 7
        is_a = [each for each in RELATIONS if each.type == "IsA"]
        heaviest = [each.uri for each in sorted(is_a, key=lambda each: (-each.weight, each.uri))]
        assert by_type["IsA"].heaviest == heaviest
        assert by_type["CapableOf"].covered["visual"] == 100.0
        assert found.most_degree == 3
        assert {each.name: each.number for each in found.degrees} == {"0": 3, "1": 11, "2-3": 3}
        assert (found.judged_good, found.judged_bad) == (1, 0)
        statistics.keep(found, tmp_path)
        assert statistics.kept(tmp_path) == found
        others = tmp_path / f"{statistics.NAME}.part"
        others.write_bytes(b"another process is writing")
        statistics.keep(found, tmp_path)
        assert others.exists()
        assert [*tmp_path.glob("*.part")] == [others]
