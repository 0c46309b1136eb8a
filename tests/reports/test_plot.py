"""Pictures of the course of a harvest."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from itertools import pairwise
from pathlib import Path

import pytest
from numpy import asarray
from PIL import Image

from tests.support.command import run
from tests.support.state_file import TALLY, make, minutes
from tools.errors import UsageError
from tools.jobs.conceptnet_description import CONCEPTNET
from tools.journal.sample import Sample
from tools.reports.plot import PARTS, POINTS, RESTARTS, draw, figure
from tools.reports.rates import Course

TITLES = ("Pools", "Throughput", "Media files kept")


def texts(picture: Path) -> str:
    return " ".join(ElementTree.fromstring(picture.read_text("utf-8")).itertext())


def weeks() -> list[Sample]:
    """Three of them, in seven runs."""
    return [
        each._replace(counts={key: n + 10 * 4320 * run for key, n in each.counts.items()})
        for run in range(7)
        for each in minutes(4320, run, begun=1e9 + 300_000 * run, waiting=10**6)
    ]


@pytest.fixture
def harvested(tmp_path: Path) -> Path:
    make(tmp_path / "state" / "pools.db", samples=[*minutes(30), *minutes(20, run=2)])
    return tmp_path


def test_a_png_of_a_file(harvested: Path) -> None:
    done = run("history.py", "state", "--plot", "course.png", cwd=harvested)
    assert (done.returncode, done.stderr) == (0, "") and done.stdout == "course.png\n"
    with Image.open(harvested / "course.png") as picture:
        assert picture.format == "PNG" and picture.size == (1200, 1080)
        colours = picture.convert("RGB").getcolors(1 << 24)
        assert colours is not None and len(colours) > 50
    assert sorted(each.name for each in harvested.iterdir()) == ["course.png", "state"]


def test_an_svg_has_its_titles_as_text(tmp_path: Path) -> None:
    draw([*minutes(30), *minutes(20, run=2)], tmp_path / "course.svg", CONCEPTNET)
    told = texts(tmp_path / "course.svg")
    for title in (*TITLES, "minutes worked", "48 min worked in 2 runs", "a run began"):
        assert title in told
    for line in ("to_fetch", "finished  190", "concepts fetched", "images  57", "sounds  19"):
        assert line in told
    again = (tmp_path / "course.svg").read_bytes()
    draw([*minutes(30), *minutes(20, run=2)], tmp_path / "course.svg", CONCEPTNET)
    assert (tmp_path / "course.svg").read_bytes() == again


def test_weeks_are_drawn_with_a_few_hundred_points(tmp_path: Path) -> None:
    samples = weeks()
    drawn = figure(Course(samples), CONCEPTNET)
    pools, pace, _ = drawn.axes
    assert max(len(asarray(line.get_xdata())) for line in pools.lines) == POINTS + 1
    assert all(len(patch.get_data().values) == PARTS for patch in pace.patches)  # type: ignore[attr-defined]
    draw(samples, tmp_path / "weeks.svg", CONCEPTNET)
    told = texts(tmp_path / "weeks.svg")
    assert "days worked" in told and "20 d 23 h worked in 7 runs" in told
    assert (tmp_path / "weeks.svg").stat().st_size < 500_000


def test_a_harvest_that_restarts_all_the_time_is_no_grey_wall() -> None:
    samples = [each for number in range(RESTARTS + 2) for each in minutes(2, run=number)]
    pools, _, _ = figure(Course(samples), CONCEPTNET).axes
    assert len(pools.lines) == 4


def test_a_short_run_is_drawn_by_the_second(tmp_path: Path) -> None:
    seconds = [each._replace(elapsed=each.elapsed / 60) for each in minutes(41)]
    draw(seconds, tmp_path / "short.svg", CONCEPTNET)
    told = texts(tmp_path / "short.svg")
    assert "seconds worked" in told and "done in a second" in told and "40 s worked" in told
    pools, pace, _ = figure(Course(seconds), CONCEPTNET).axes
    assert len(asarray(pools.lines[0].get_xdata())) == 41 and pools.get_xlim() == (0, 40)
    assert set(pace.patches[-1].get_data().values) == {0.0}  # type: ignore[attr-defined]
    assert pace.patches[1].get_data().values == pytest.approx([10.0] * 40)  # type: ignore[attr-defined]


def test_samples_that_come_less_and_less_often_give_the_same_curve() -> None:
    """As a harvest writes them: every second at first, every minute later."""
    dense = [each._replace(elapsed=each.elapsed / 60) for each in minutes(300)]
    thin = [
        each._replace(elapsed=300.0 + each.elapsed, counts=TALLY | {"finished": 3000 + 10 * at})
        for at, each in enumerate(minutes(200))
    ]
    pools, _, _ = figure(Course([*dense, *thin]), CONCEPTNET).axes
    line = next(each for each in pools.lines if str(each.get_label()).startswith("finished"))
    heights = asarray(line.get_ydata())
    assert all(after >= before for before, after in pairwise(heights))
    assert heights[-1] == 3000 + 10 * 199


def test_a_harvest_without_media_says_so(tmp_path: Path) -> None:
    bare = [each._replace(counts=TALLY) for each in minutes(5)]
    draw(bare, tmp_path / "bare.svg", CONCEPTNET)
    assert "none so far" in texts(tmp_path / "bare.svg")


@pytest.mark.parametrize("name", ["course.pdf", "course", ".png"])
def test_other_formats_are_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(UsageError, match=r"FILE\.svg or FILE\.png"):
        draw(minutes(5), tmp_path / name, CONCEPTNET)


@pytest.mark.parametrize("number", [0, 1])
def test_too_few_samples_are_told(tmp_path: Path, number: int) -> None:
    with pytest.raises(UsageError, match="nothing to plot yet"):
        draw(minutes(number), tmp_path / "course.svg", CONCEPTNET)


def test_a_place_that_cannot_be_written_is_known(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot be written"):
        draw(minutes(5), tmp_path / "nowhere" / "course.png", CONCEPTNET)
