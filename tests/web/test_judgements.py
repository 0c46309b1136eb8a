"""What people say of files: kept line by line, used by exports and figures."""

from __future__ import annotations

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import pytest

from main import main
from tests.support.command import Here
from tests.web.data_contract import HASH, fill
from tools.errors import UsageError
from tools.graphs.sqlite import SqliteGraph
from tools.journal.snapshots import JUDGED, set_aside
from tools.web.data import judgements
from tools.web.data.judgements import bad, judge, judged, latest

ONE, OTHER = (HASH.format(*([number] * 32)) for number in (1, 2))


def test_the_last_word_counts_and_can_be_taken_back(tmp_path: Path) -> None:
    assert judged(tmp_path) == {}
    for verdict in ("good", "bad"):
        judge(tmp_path, ONE, verdict)
    judge(tmp_path, OTHER, "bad")
    assert judged(tmp_path) == {ONE: "bad", OTHER: "bad"}
    judge(tmp_path, ONE, "none")
    assert bad(tmp_path) == {OTHER}
    assert len((tmp_path / JUDGED).read_bytes().splitlines()) == 4


@pytest.mark.parametrize(
    ("sha256", "verdict"), [("ff", "good"), (ONE, "great"), (ONE + "\n", "bad")]
)
def test_what_is_no_judgement_is_refused(tmp_path: Path, sha256: str, verdict: str) -> None:
    with pytest.raises(UsageError):
        judge(tmp_path, sha256, verdict)
    assert not (tmp_path / JUDGED).exists()


def test_a_spoilt_line_harms_no_other(tmp_path: Path) -> None:
    judge(tmp_path, ONE, "good")
    with (tmp_path / JUDGED).open("ab") as file:
        file.write(
            b'\xff\n[]\n{"sha256": 3}\n{"sha256": "' + b"0" * 64 + b'", "verdict": []}\n{"sha2'
        )
    judge(tmp_path, OTHER, "bad")
    assert judged(tmp_path) == {ONE: "good", OTHER: "bad"}


def test_many_at_once_write_whole_lines(tmp_path: Path) -> None:
    hashes = [f"{number:064x}" for number in range(100)]
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda each: judge(tmp_path, each, "good"), hashes))
    assert sorted(judged(tmp_path)) == hashes


def test_the_name_of_a_new_file_is_on_the_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced: list[Path] = []
    monkeypatch.setattr(judgements, "sync", synced.append)
    judge(tmp_path, ONE, "good")
    judge(tmp_path, OTHER, "good")
    assert synced == [tmp_path]


def test_it_is_read_again_only_after_a_change(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    reads, lines = list[Path](), judgements._lines

    def counted(path: Path) -> Iterator[tuple[int, str, judgements.Verdict]]:
        reads.append(path)
        return lines(path)

    monkeypatch.setattr(judgements, "_lines", counted)
    for verdict in ("good", "bad"):
        judge(tmp_path, ONE, verdict)
        for _ in range(3):
            assert judged(tmp_path) == {ONE: verdict}
    assert len(reads) == 2
    (tmp_path / JUDGED).unlink()
    assert judged(tmp_path) == {}


def test_a_harvest_begun_anew_keeps_them_and_the_old_one_has_a_copy(tmp_path: Path) -> None:
    judge(tmp_path, ONE, "good")
    assert set_aside(tmp_path) is None, "nothing of a harvest"
    (tmp_path / "pools.db").touch()
    aside = set_aside(tmp_path)
    assert aside is not None and {each.name for each in aside.iterdir()} == {"pools.db", JUDGED}
    judge(tmp_path, OTHER, "bad")
    assert judged(tmp_path) == {ONE: "good", OTHER: "bad"}
    assert judged(aside) == {ONE: "good"}


def test_each_has_the_line_of_its_last_word(tmp_path: Path) -> None:
    for sha256, verdict in ((ONE, "good"), (OTHER, "bad"), (ONE, "bad")):
        judge(tmp_path, sha256, verdict)
    assert [*latest(tmp_path).items()] == [(OTHER, ("bad", 2)), (ONE, ("bad", 3))]


@pytest.fixture
def state(tmp_path: Path) -> Path:
    with closing(SqliteGraph(tmp_path / "state/graph.db")) as graph:
        fill(graph)
    return tmp_path / "state"


@pytest.mark.usefixtures("no_settings")
def test_an_export_leaves_out_what_is_bad(
    state: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    judge(state, ONE, "bad")
    for flags, files in (((), 7), (("--without-bad",), 6)):
        folder = tmp_path / f"files-{files}"
        assert main(["export", "--format", "jsonl", str(folder), "-q", *flags]) == 0
        rows = [json.loads(line) for line in (folder / "media.jsonl").read_text().splitlines()]
        assert len(rows) == files
        assert (ONE in {each["sha256"] for each in rows}) == (not flags)
        entities = [
            json.loads(line) for line in (folder / "entities.jsonl").read_text().splitlines()
        ]
        [dog] = [each for each in entities if each["uri"] == "/c/en/dog"]
        assert len(dog["image"]) == (1 if flags else 2)
    assert capsys.readouterr().err == ""


@pytest.mark.usefixtures("no_settings")
def test_stats_as_json_and_as_tables(state: Path, capsys: pytest.CaptureFixture[str]) -> None:
    judge(state, ONE, "bad")
    assert main(["stats", "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert (said["concepts"], said["files"], said["judged_bad"]) == (17, 7, 1)
    assert said["concept_coverage"]["image"] == {"name": "image", "number": 3, "percent": 17.65}
    assert json.loads((state / "stats.json").read_bytes()) == said
    assert main(["stats"]) == 0
    text = capsys.readouterr().out
    for word in ("CC BY 4.0", "commons", "TIVA-KG", "98.1 %", "README of IMDB4M", "17.6 %"):
        assert word in text


@pytest.mark.usefixtures("no_settings", "state")
def test_what_a_table_leaves_out_is_said(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert main(["stats"]) == 0
    assert "more: see --json" not in capsys.readouterr().out
    monkeypatch.setattr("tools.commands.stats.LONGEST", 1)
    assert main(["stats"]) == 0
    assert "more: see --json" in capsys.readouterr().out


def test_stats_of_no_graph_say_so(here: Here) -> None:
    said = here("stats")
    assert said.startswith("2 ")
    assert "there is no graph" in said
