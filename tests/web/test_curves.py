"""What is drawn of how fast a harvest went."""

from __future__ import annotations

import json
import re
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

from playwright.sync_api import Route, expect

from tests.web.eyes import HAS_BEGUN, Eyes, Look
from tests.web.scene import Served, copied, served, spoil
from tools.journal.sample import Sample
from tools.web.overview import MOST_POINTS, thinned

MINUTES = [Sample(1, 60.0 * n, 60.0 * n, {}, 0, 0) for n in range(1500)]


def test_the_last_hour_of_a_long_harvest_is_there_in_full() -> None:
    """Of the day before it, no more than can be seen."""
    found = thinned(MINUTES)
    assert [*found][-60:] == MINUTES[-60:]
    assert [*found] == sorted(found) and len(found) <= MOST_POINTS + 62
    assert found[0].time < 3600


def curves_are(look: Look, times: Sequence[float], *series: Sequence[float | None]) -> None:
    """From the next look on."""
    named = [{"title": f"series {at}", "values": values} for at, values in enumerate(series)]
    body = json.dumps({"times": times, "series": named})

    def answer(route: Route) -> None:
        route.fulfill(status=200, body=body, content_type="application/json")

    look.page.route("**/api/curves", answer)
    look.page.reload()


def test_who_chooses_a_minute_sees_a_line(page: Served, browser: Eyes) -> None:
    """Samples of a long harvest lie further apart than that."""
    times = [each.time for each in thinned(MINUTES)]
    with browser.looking(page.full) as look:
        curves_are(look, times, [None, *(float(n % 7) for n in range(1, len(times)))])
        look.page.wait_for_selector("#curves canvas")
        look.page.click("#curves button[data-seconds='60']")
        points = look.page.locator("#curves[data-shown]")
        assert int(points.get_attribute("data-shown") or 0) >= 2
        look.page.click("#curves button[data-seconds='0']")
        assert int(points.get_attribute("data-shown") or 0) == len(times)
        assert look.complaints() == []


def test_nothing_to_draw_is_said_and_no_two_curves_look_alike(page: Served, browser: Eyes) -> None:
    lines = """() => { const seen = new Set(), draw = CanvasRenderingContext2D.prototype.stroke;
        CanvasRenderingContext2D.prototype.stroke = function (...all) {
            if (this.lineWidth > 1) seen.add(this.strokeStyle + this.getLineDash());
            return draw.apply(this, all); };
        window.lines = seen; }"""
    with browser.looking(page.full) as look:
        curves_are(look, [1.0])
        look.page.wait_for_function(HAS_BEGUN)
        expect(look.page.locator("#curves .plot")).to_contain_text("Nothing to draw yet")
        look.page.add_init_script(f"({lines})()")
        curves_are(look, [1.0, 2.0, 3.0], *([None, 1.0, float(at)] for at in range(8)))
        look.page.wait_for_selector("#curves canvas")
        expect(look.page.locator("#curves .plot")).not_to_contain_text("Nothing to draw yet")
        look.page.wait_for_function("() => window.lines.size == 8")
        assert look.complaints() == []


def test_times_are_written_as_everywhere(page: Served, browser: Eyes) -> None:
    """Whole seconds, 24 hours in a day, the year first."""
    texts = """() => { const all = [], draw = CanvasRenderingContext2D.prototype.fillText;
        CanvasRenderingContext2D.prototype.fillText = function (text, ...where) {
            all.push(text);
            return draw.apply(this, [text, ...where]); };
        window.texts = all; }"""
    with browser.looking(page.full) as look:
        look.page.add_init_script(f"({texts})()")
        for seconds, written in (
            (6, r"\d\d:\d\d:\d\d"),
            (6e3, r"\d\d:\d\d"),
            (6e6, r"1970-\d\d-\d\d"),
        ):
            curves_are(look, [0.0, seconds / 2, seconds], [None, 1.0, 2.0])
            look.page.wait_for_selector("#curves canvas")
            matching = f"window.texts.filter(each => /^{written}$/.test(each))"
            look.page.wait_for_function(f"() => {matching}.length > 2")
            seen = look.page.evaluate("() => window.texts.filter(each => !each.endsWith('/s'))")
            assert [each for each in seen if re.fullmatch(written, each)] == seen
        assert look.complaints() == []


def test_failures_are_counted_in_the_table_and_in_the_curve(
    harvested: Path, tmp_path: Path
) -> None:
    folder = copied(harvested, tmp_path)
    spoil(folder / "state", ("one", "other"))
    with closing(sqlite3.connect(folder / "state" / "pools.db")) as db, db:
        db.execute("DELETE FROM sample")
        rows = [(10.0 * n, 10.0 * n, f'{{"failed": {50 * n}}}') for n in range(4)]
        db.executemany("INSERT INTO sample VALUES (1, ?, ?, ?, 0, 0)", rows)
    with served(folder) as page:
        totals = {each["title"]: each["total"] for each in page.get("/api/overview").json["rates"]}
        assert totals["failures"] == "2"
        (rates,) = (
            each["values"]
            for each in page.get("/api/curves").json["series"]
            if each["title"] == "failures"
        )
        assert rates and {*rates[1:]} == {5.0}


def test_what_is_drawn_is_in_a_table_too(page: Served) -> None:
    drawn = {each["title"] for each in page.get("/api/curves").json["series"]}
    assert drawn and drawn <= {each["title"] for each in page.get("/api/overview").json["rates"]}
