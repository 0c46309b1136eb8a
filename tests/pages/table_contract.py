"""What every table of pages promises. The test of a table subclasses this and opens the table."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing
from threading import Thread
from typing import Any

import pytest

from tools.errors import GiveUp, StateDamaged
from tools.pages.page import (
    Analysed,
    ArchiveFile,
    Capture,
    Captured,
    Child,
    Controlled,
    Failed,
    Fetched,
    Host,
    HostNews,
    Link,
    Page,
    Record,
    Unchanged,
    moment,
)
from tools.pages.table import Admitted, Known, PageTable, Word, Written

Open = Callable[[], PageTable]
NONE: frozenset[str] = frozenset()
SEED = "a.example/"
THEN, LATER, AFTER = moment(1000), moment(2000.5), moment(3000)


def child(url: str, *path: str) -> Child:
    return Child(url, f"https://{url}", path)


def capture(offset: int = 0, kind: str = "response", file: str = "a.warc.gz") -> Capture:
    return Capture(f"https://{SEED}", THEN, 200, "text/html", "sha1:A", file, offset, 100, kind)


def fetched(url: str = SEED, at: str = THEN, **more: Any) -> Fetched:
    return Fetched(url=url, fetched_at=at, address=f"https://{url}", status=200, **more)


def page_of(table: PageTable, url: str = SEED) -> Page:
    page = table.page(url)
    assert page is not None
    return page


def words(table: PageTable) -> dict[str, tuple[int, int]]:
    return {each.word: (each.count, each.pages) for each in table.words(100)}


class TableContract:
    """Subclasses give a fixture `open_again` that opens the same table again and again."""

    @pytest.fixture
    def table(self, open_again: Open) -> Iterator[PageTable]:
        with closing(open_again()) as table:
            yield table

    @pytest.fixture
    def done(self, table: PageTable) -> PageTable:
        """One with a page that is fetched."""
        table.admit([child(SEED)])
        table.write([fetched(captures=[capture()])])
        table.write([Analysed(url=SEED, words={"cat": 2, "dog": 1})])
        return table

    # --- the life of a row -----------------------------------------------------------------

    def test_a_new_table_is_empty(self, table: PageTable) -> None:
        assert table.page(SEED) is None and table.host("a.example") is None
        assert table.owner() is None and table.digest_known("sha1:A") is None
        assert not [*table.pages(), *table.links_of(SEED), *table.words(10), *table.hosts()]
        assert not {**table.known([SEED]), **table.ends_of_files(), **table.words_of(SEED)}

    def test_a_row_is_there_before_the_download(self, table: PageTable) -> None:
        admitted = table.admit([child("a.example:8080/x")])
        assert admitted == Admitted(frozenset({"a.example:8080/x"}), NONE)
        page = page_of(table, "a.example:8080/x")
        assert (page.state, page.domain, page.paths, page.depth) == (0, "a.example", [[]], 0)
        assert page.address == "https://a.example:8080/x"
        assert page.created_at == page.updated_at > LATER
        assert (page.sub_urls, page.fetched_at, page.words) == (None, None, None)

    def test_it_is_fetched_when_its_analysis_is_stored(self, table: PageTable) -> None:
        table.admit([child(SEED)])
        facts: dict[str, Any] = {
            "content_type": "text/html", "charset": "latin-1", "bytes": 5_000_000_000,
            "digest": "sha1:A", "etag": '"1"', "last_modified": "Mon", "remark": "slow",
        }  # fmt: skip
        table.write([fetched(captures=[capture()], **facts)])
        page = page_of(table)
        assert {name: getattr(page, name) for name in facts} == facts
        assert (page.state, page.fetched_at, page.status) == (0, THEN, 200)
        links = [Link("a.example/b", "https://a.example/b"), Link("a.example/b", "https://twice")]
        written = table.write(
            [
                Analysed(
                    url=SEED, links=links, words={"cat": 2}, title="Cats", canonical="https://c",
                    extra={"price": [1, None]},
                )
            ]
        )  # fmt: skip
        assert written == Written(NONE, NONE, NONE)
        page = page_of(table)
        assert (page.state, page.sub_urls, page.words) == (1, ["a.example/b"], 2)
        assert (page.title, page.canonical, page.extra) == (
            "Cats",
            "https://c",
            {"price": [1, None]},
        )
        assert (page.charset, page.remark) == ("latin-1", "slow")

    def test_what_has_nothing_to_analyse_is_fetched_at_once(self, table: PageTable) -> None:
        table.admit([child(SEED), child("a.example/x.pdf")])
        target = Link("b.example/", "http://b.example/", "redirect")
        table.write(
            [
                fetched(redirect=target.address, links=[target], final=True),
                fetched("a.example/x.pdf", content_type="application/pdf", final=True),
            ]
        )
        assert (page_of(table).state, page_of(table).redirect) == (1, target.address)
        assert table.links_of(SEED) == [target]
        pdf = page_of(table, "a.example/x.pdf")
        assert (pdf.state, pdf.sub_urls, pdf.words) == (1, [], None)

    def test_the_first_result_stays(self, done: PageTable) -> None:
        before = page_of(done), words(done), done.captures(SEED)
        second: list[list[Record]] = [
            [fetched(at=LATER, captures=[capture(500)])],
            [Analysed(url=SEED, words={"cat": 9})],
            [Failed(url=SEED, remark="HTTP 500", captures=[capture(500)])],
            [fetched(at=AFTER, stale_before=THEN)],
        ]
        for records in second:
            assert done.write(records).dropped == {SEED}
        assert (page_of(done), words(done), done.captures(SEED)) == before

    def test_of_two_results_in_one_batch_the_first_stays(self, table: PageTable) -> None:
        table.admit([child(SEED)])
        twice = [Analysed(url=SEED, words={"cat": 1}), Analysed(url=SEED, words={"dog": 1})]
        assert table.write(twice).dropped == {SEED}
        assert words(table) == {"cat": (1, 1)}

    def test_a_result_of_an_unknown_page_is_dropped(self, table: PageTable) -> None:
        assert table.write([fetched(), Analysed(url="x", words={"cat": 1})]).dropped == {SEED, "x"}
        assert words(table) == {} and list(table.pages()) == []

    def test_a_failure_has_its_reason_and_may_be_retried(self, table: PageTable) -> None:
        table.admit([child(SEED)])
        failed = Failed(url=SEED, remark="HTTP 404", status=404, fetched_at=THEN)
        assert table.write([failed]).dropped == set()
        page = page_of(table)
        assert (page.state, page.remark, page.status) == (2, "HTTP 404", 404)
        assert table.counts().reasons == {"HTTP 404": 1}
        table.write([fetched(at=LATER)])
        assert (page_of(table).state, page_of(table).remark) == (0, None)
        table.write([Analysed(url=SEED)])
        assert page_of(table).state == 1

    def test_what_is_old_is_replaced_and_its_words_taken_off(self, done: PageTable) -> None:
        done.admit([child("a.example/b", SEED)])
        done.write([Analysed(url="a.example/b", words={"cat": 1})])
        written = done.write([fetched(at=LATER, stale_before=moment(1000.001))])
        assert written.dropped == set()
        assert done.known([SEED]) == {SEED: Known(0, 0, LATER)}
        assert words(done) == {"cat": (3, 2), "dog": (1, 1)}  # until the new ones are here
        done.write([Analysed(url=SEED, words={"emu": 4, "cat": 1})])
        assert words(done) == {"emu": (4, 1), "cat": (2, 2)}
        assert done.words_of(SEED) == {"emu": 4, "cat": 1}
        done.write([fetched(at=AFTER, stale_before=AFTER, final=True)])
        assert words(done) == {"cat": (1, 1)} and done.words_of(SEED) == {}

    def test_words_count_at_once_and_stand_in_the_table_later(
        self, done: PageTable, open_again: Open
    ) -> None:
        done.admit([child("a.example/b", SEED)])
        both = {"cat": (5, 2), "dog": (1, 1)}
        with closing(open_again()) as after_a_kill:  # which has to find what waits to be counted
            after_a_kill.write([Analysed(url="a.example/b", words={"cat": 3})])
            assert words(after_a_kill) == words(done) == both
            assert after_a_kill.words(1) == [Word("cat", 5, 2)]
            after_a_kill.count_words()
            after_a_kill.count_words()
            assert words(after_a_kill) == words(done) == both

    def test_one_that_did_not_change_gets_a_moment_and_a_capture(self, done: PageTable) -> None:
        before = page_of(done)
        again = [Unchanged(url=SEED, fetched_at=LATER, captures=[capture(100, "revisit")])]
        assert done.write(again).dropped == set()
        assert done.write(again).dropped == {SEED}
        after = page_of(done)
        assert after.fetched_at == LATER
        assert after._replace(fetched_at=THEN, updated_at=before.updated_at) == before
        assert [each.kind for each in done.captures(SEED)] == ["response", "revisit"]

    def test_a_batch_is_all_or_nothing(self, done: PageTable, open_again: Open) -> None:
        bad = capture(100)._replace(address=None)  # type: ignore[arg-type]
        records: list[Record] = [
            Controlled(url=SEED, children=[child("a.example/b", f"{at}") for at in range(12)]),
            HostNews(name="a.example", pages=1),
            Captured(captures=[capture(200), bad]),
        ]
        with pytest.raises(GiveUp):
            done.write(records)
        with closing(open_again()) as again:
            assert len(list(again.pages())) == 1 and again.host("a.example") is None
            assert again.ends_of_files() == {"a.warc.gz": 100}
        assert done.write(records[:2]).new == {"a.example/b"}

    # --- paths -----------------------------------------------------------------------------

    def test_the_shortest_path_is_the_depth(self, table: PageTable) -> None:
        assert table.admit([child("x", "a", "b")]).new == {"x"}
        assert table.admit([child("x", "c", "d", "e")]) == Admitted(NONE, NONE)
        assert page_of(table, "x").depth == 2
        assert table.admit([child("x", "f")]) == Admitted(NONE, frozenset({"x"}))
        page = page_of(table, "x")
        assert (page.depth, page.paths) == (1, [["f"], ["a", "b"], ["c", "d", "e"]])

    def test_a_path_is_kept_once_and_leads_round_no_circle(self, table: PageTable) -> None:
        table.admit([child("x", "a"), child("x", "a"), child("x", "x", "b")])
        table.admit([child("x", "a"), child("x", "b", "x")])
        assert page_of(table, "x").paths == [["a"]]

    def test_of_many_paths_the_shortest_and_some_others_are_kept(
        self, table: PageTable, open_again: Open
    ) -> None:
        for number in range(12):
            table.admit([child("x", f"a{number}", "b")])
        kept = [[f"a{number}", "b"] for number in range(9)]
        assert page_of(table, "x").paths == kept
        with closing(open_again()) as again:
            assert again.admit([child("x", "z", "z1")]).sank == set()
        assert table.admit([child("x", "s")]).sank == {"x"}
        assert table.admit([child("x", "t")]).sank == set()
        assert page_of(table, "x").paths == [["s"], *kept[:8]]

    def test_children_are_written_with_their_parents_step(self, table: PageTable) -> None:
        table.admit([child(SEED)])
        step = Controlled(url=SEED, children=[child("b", SEED), child("c", SEED)])
        assert table.write([step]).new == {"b", "c"}
        assert table.write([step]) == Written(NONE, NONE, NONE)
        assert table.known(["c", "b", "?"]) == {"b": Known(0, 1, None), "c": Known(0, 1, None)}

    # --- texts -----------------------------------------------------------------------------

    def test_hostile_texts_are_stored_as_far_as_they_can_be(self, table: PageTable) -> None:
        table.admit([child(SEED)])
        strange = "'); DROP TABLE pages; --\x00\ud800{}%s %(now)s :now \\u0000 \u202e😀"
        clean = strange.replace("\x00", "").replace("\ud800", "\ufffd")
        links = [Link(strange, strange, strange)]
        table.write(
            [
                fetched(content_type=strange),
                Analysed(
                    url=SEED, links=links, title=strange, extra={strange: {strange: [strange]}},
                    words={"a\x00b": 1, "ab": 2, "\x00": 1, "é": 1, "\ud800": 5},
                ),
                HostNews(name=strange, robots=strange),
            ]
        )  # fmt: skip
        page = page_of(table)
        assert (page.content_type, page.title) == (clean, clean)
        assert page.extra == {clean: {clean: [clean]}}
        assert table.links_of(SEED) == [Link(clean, clean, clean)]
        assert words(table) == {"ab": (3, 1), "é": (1, 1), "\ufffd": (5, 1)}
        assert [host.robots for host in table.hosts()] == [clean]

    def test_words_that_no_index_takes_are_left_out(self, table: PageTable) -> None:
        table.admit([child(SEED)])
        thai = "ก" * 600
        long = {chr(0x4E00 + at % 5000): 1 for at in range(4)} | {thai: 1, "字" * 5000: 7}
        table.write([Analysed(url=SEED, words={**long, "x": 2})])
        assert (
            table.words_of(SEED).keys()
            == words(table).keys()
            == long.keys() - {"字" * 5000} | {"x"}
        )

    def test_links_keep_kind_scheme_and_order(self, table: PageTable) -> None:
        table.admit([child(SEED)])
        links = [
            Link("h/1", "http://h/1"),
            Link("h/2", "https://h/2"),
            Link("h/3", "http://h/3", "iframe"),
            Link("h/4", "http://h/4?utm=1", "a", True),
            Link("h/5", "http://h/5"),
        ]
        table.write([fetched(), Analysed(url=SEED, links=links)])
        assert table.links_of(SEED) == links
        assert [(each.url, each.depth, each.links) for each in table.linking(0)] == [
            (SEED, 0, links)
        ]
        secure = [Link("h/1", "https://h/1"), Link("h/2", "https://h/2")]
        table.write([fetched(at=LATER, stale_before=LATER), Analysed(url=SEED, links=secure)])
        assert table.links_of(SEED) == secure

    # --- beside the pages ------------------------------------------------------------------

    def test_captures_are_found_by_page_file_and_digest(self, done: PageTable) -> None:
        robots = capture(0, file="b.warc.gz")._replace(digest="sha1:R", status=None, mime=None)
        revisit = capture(100, "revisit")._replace(digest="sha1:N")
        done.write([Captured(captures=[robots, revisit])])
        assert done.captures(SEED) == [capture()]
        assert list(done.captures_in("a.warc.gz")) == [(SEED, capture()), (None, revisit)]
        assert done.digest_known("sha1:R") == robots
        assert done.digest_known("sha1:A") == capture() and done.digest_known("sha1:N") is None
        done.claim("it")  # what was written before is known to it, too
        assert done.digest_known("sha1:A") == capture() and done.digest_known("sha1:B") is None

    def test_the_latest_good_answer_of_each_page_in_the_order_of_arrival(
        self, table: PageTable
    ) -> None:
        other = "b.example/"
        table.admit([child(SEED), child(other)])
        table.write([fetched(captures=[capture()])])
        table.write([fetched(other, captures=[capture(100), capture(200, "request")])])
        (first, *_), (second, *_) = found = list(table.latest(0))
        assert [(url, each.offset) for _, url, each in found] == [(SEED, 0), (other, 100)]
        assert first < second and list(table.latest(second)) == []
        worse = capture(300)._replace(status=404)
        table.write([fetched(at=LATER, captures=[worse], stale_before=AFTER)])
        assert list(table.latest(0)) == found
        table.write([fetched(at=AFTER, captures=[capture(400, "revisit")], stale_before=AFTER)])
        assert [(url, each.offset) for _, url, each in table.latest(0)] == [
            (other, 100),
            (SEED, 400),
        ]
        assert [url for _, url, _ in table.latest(second)] == [SEED]

    def test_the_nearest_and_the_largest_pages(self, done: PageTable) -> None:
        names = [f"a.example/{name}" for name in "xyz"]
        done.admit(
            [child(names[0], SEED, "b.example/"), *(child(each, SEED) for each in names[1:])]
        )
        for name, size in zip(names[:2], (7, 9), strict=True):
            done.write([fetched(name, bytes=size, final=True)])
        assert [page.url for page in done.first(9)] == [SEED, names[1], names[0]]  # one is new
        assert [page.url for page in done.first(2)] == [SEED, names[1]]
        assert done.largest(9) == [(names[1], 9), (names[0], 7)] and len(done.largest(1)) == 1

    def test_files_are_as_long_as_what_is_committed(self, done: PageTable) -> None:
        assert done.ends_of_files() == {"a.warc.gz": 100}
        done.write([ArchiveFile(name="a.warc.gz", bytes=150)])  # a request behind the answer
        done.write([Captured(captures=[capture(20)])])
        assert done.ends_of_files() == {"a.warc.gz": 150}
        closed = ArchiveFile(name="a.warc.gz", bytes=150, sha256="ab", closed_at=THEN)
        done.write([closed, ArchiveFile(name="b.warc.gz", bytes=7)])
        done.write([ArchiveFile(name="a.warc.gz", bytes=150, shipped_at=LATER)])
        [first, second] = done.files()
        assert (first.sha256, first.closed_at, first.shipped_at) == ("ab", THEN, LATER)
        assert second == ArchiveFile(name="b.warc.gz", bytes=7)

    def test_what_the_archive_lost_is_new_again(self, done: PageTable) -> None:
        done.admit([child("b", SEED)])
        done.write([fetched("b", captures=[capture(100), capture(200)])])
        done.write([Analysed(url="b", words={"cat": 1})])
        assert done.cut_back("a.warc.gz", 150) == ["b"]
        assert done.known([SEED, "b"]) == {SEED: Known(1, 0, THEN), "b": Known(0, 1, None)}
        assert done.ends_of_files() == {"a.warc.gz": 100} and done.captures("b") == []
        done.write([fetched("b"), Analysed(url="b", words={"emu": 1})])
        assert words(done) == {"cat": (2, 1), "dog": (1, 1), "emu": (1, 1)}

    def test_a_closed_file_that_lost_something_is_not_closed_any_more(
        self, done: PageTable
    ) -> None:
        closed = {"sha256": "ab", "closed_at": THEN, "shipped_at": THEN}
        done.write([Captured(captures=[capture(100), capture(0, file="b.warc.gz")])])
        done.write([ArchiveFile(name=f"{each}.warc.gz", bytes=250, **closed) for each in "ab"])
        done.cut_back("a.warc.gz", 180)
        done.cut_back("b.warc.gz", 50)
        assert done.files() == [ArchiveFile(name="a.warc.gz", bytes=100)]

    def test_hosts_are_remembered_and_their_numbers_added(self, table: PageTable) -> None:
        table.write(
            [
                HostNews(name="h", scheme="https", robots="User-agent: *", robots_at=7.5, pages=1),
                HostNews(name="h", pages=2, seconds=0.5, rests_until=99.5, reason="429"),
            ]
        )
        table.write([HostNews(name="h", failures=1, bytes=10, rests_until=0, reason="")])
        known = Host("h", "https", "User-agent: *", 7.5, None, 3, 1, 10, 0.5, 0.0, "")
        assert table.host("h") == known and list(table.hosts()) == [known]

    def test_the_most_frequent_words_come_first(self, done: PageTable) -> None:
        assert done.words(1) == [Word("cat", 2, 1)]

    def test_pages_are_counted_by_what_they_share(self, done: PageTable) -> None:
        done.admit([child("b.example/", SEED)])
        counts = done.counts()
        assert (counts.states, counts.depths) == ({0: 1, 1: 1}, {0: 1, 1: 1})
        assert counts.domains == {"a.example": 1, "b.example": 1}
        assert (counts.statuses, counts.types, counts.reasons) == ({200: 1}, {}, {})

    def test_all_pages_come_by_url_however_many(self, table: PageTable) -> None:
        urls = sorted(f"h/{letter}{at}" for letter in "aBé字😀" for at in range(250))
        table.admit([child(url) for url in reversed(urls)])
        assert [page.url for page in table.pages()] == urls
        assert [page.url for page in table.pages("h/é")] == [u for u in urls if u[2] == "é"]
        table.write([Captured(captures=[capture(100 * at) for at in range(600)])])
        assert [each.offset for _, each in table.captures_in("a.warc.gz")][-1] == 59_900

    # --- whose it is -----------------------------------------------------------------------

    def test_a_table_belongs_to_one_harvest(self, table: PageTable, open_again: Open) -> None:
        table.claim("one")
        with closing(open_again()) as again:
            again.claim("one")
            assert again.owner() == "one"
            with pytest.raises(StateDamaged, match="another crawl"):
                again.claim("two")

    def test_others_read_while_one_writes(self, done: PageTable) -> None:
        seen: list[object] = []
        with done._writing():  # type: ignore[attr-defined]
            done._admit([child("x", SEED)], LATER)  # type: ignore[attr-defined]
            reader = Thread(target=lambda: seen.extend([done.page(SEED), done.page("x")]))
            reader.start()
            reader.join(30)
        assert seen == [page_of(done), None]
        assert done.page("x") is not None
