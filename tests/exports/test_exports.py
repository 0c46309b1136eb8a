"""Every format read back by the tool it is for: everything is there, to the letter."""

from __future__ import annotations

import ast
import csv
import json
import re
import signal
import subprocess
import sys
import warnings
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pandas
import pyarrow.parquet
import pytest
import rdflib
from rdflib import RDF, RDFS, Literal, URIRef

from main import main
from tests.faults.injection import main_py, wait_until
from tests.support.command import Here, clean_environment, says, start
from tests.support.export_world import exported, hostile, sample_graph
from tests.support.graph_world import Contents, in_sqlite
from tests.support.needs import program
from tests.support.pykeen_reader import TriplesFactory
from tests.support.store_contract import relation, write
from tools.add import Media, unseen
from tools.errors import AlreadyRunning
from tools.exports import parquet
from tools.exports.catalogue import FORMATS
from tools.exports.folder import TITLE, new_folder
from tools.exports.ntriples import ELEMENTS, OF_MEDIA, OURS, SCHEMA, TERMS
from tools.exports.split import Split
from tools.graphs.copy import BATCH
from tools.graphs.sqlite import SqliteGraph

BY_KEY = {"entity": "uri", "relation": "uri", "media": "path"}
TABLES = {"entity": "entities", "relation": "relations", "media": "media"}


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return hostile(tmp_path_factory.mktemp("graph") / "graph.db")


@pytest.fixture(scope="module")
def sample(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return sample_graph(tmp_path_factory.mktemp("sample") / "graph.db")


def expected(file: Path) -> Contents:
    """What the database holds; null is absent."""
    ends = {"start_uri": "start", "end_uri": "end"}
    return {
        table: [{ends.get(key, key): value for key, value in row.items()} for row in rows]
        for table, rows in in_sqlite(file).items()
    }


def by_key(found: Contents) -> Contents:
    return {
        table: sorted(
            ({key: value for key, value in row.items() if value is not None} for row in rows),
            key=lambda row: str(row[BY_KEY[table]]),
        )
        for table, rows in found.items()
    }


def without_empty(contents: Contents) -> Contents:
    return {
        table: [{key: value for key, value in row.items() if value != ""} for row in rows]
        for table, rows in contents.items()
    }


# --- tables ------------------------------------------------------------------------------------


def frame_rows(frame: Any) -> list[dict[str, Any]]:
    return [
        {key: value for key, value in row.items() if isinstance(value, list) or value == value}
        for row in frame.astype(object).to_dict("records")
    ]


def read_csv(file: Path) -> list[dict[str, Any]]:
    frame = pandas.read_csv(file, keep_default_na=False, na_values=[""])
    lists = ("image", "audio", "visual")
    return [
        {key: json.loads(value) if key in lists else value for key, value in row.items()}
        for row in frame_rows(frame)
    ]


def test_pandas_reads_the_csv_files(file: Path, tmp_path: Path) -> None:
    folder = exported(file, tmp_path / "x", "csv")
    found = {table: read_csv(folder / f"{name}.csv") for table, name in TABLES.items()}
    assert by_key(found) == without_empty(expected(file))


def test_the_csv_module_reads_the_csv_files_and_lines_end_as_the_standard_says(
    file: Path, tmp_path: Path
) -> None:
    folder = exported(file, tmp_path / "x", "csv")
    with (folder / "entities.csv").open(encoding="utf-8", newline="") as lines:
        rows = list(csv.DictReader(lines, strict=True))
    names = {row["uri"]: row["name"] for row in rows}
    assert names == {row["uri"]: row["name"] for row in expected(file)["entity"]}
    assert (folder / "media.csv").read_bytes().startswith(b"path,owner,kind,mime,sha256,bytes,")
    assert (folder / "media.csv").read_bytes().endswith(b"\r\n")


def test_every_line_of_the_json_files_is_a_record(file: Path, tmp_path: Path) -> None:
    folder = exported(file, tmp_path / "x", "jsonl")
    lines = {
        table: (folder / f"{name}.jsonl").read_bytes().split(b"\n")[:-1]
        for table, name in TABLES.items()
    }
    found = {table: [json.loads(line) for line in each] for table, each in lines.items()}
    assert by_key(found) == expected(file)
    frame = pandas.read_json(folder / "relations.jsonl", lines=True)
    assert len(frame) == len(found["relation"])


def test_parquet_has_the_types_of_the_records_and_every_value(file: Path, tmp_path: Path) -> None:
    folder = exported(file, tmp_path / "x", "parquet")
    tables = {
        table: pyarrow.parquet.read_table(folder / f"{name}.parquet")
        for table, name in TABLES.items()
    }
    assert by_key({table: each.to_pylist() for table, each in tables.items()}) == expected(file)
    types = {field.name: str(field.type) for field in tables["media"].schema}
    assert (types["bytes"], types["duration"], types["author"]) == ("int64", "double", "string")
    field = tables["relation"].schema.field("image")
    assert str(field.type).startswith("list<") and field.nullable
    column = pyarrow.parquet.ParquetFile(folder / "media.parquet").metadata.row_group(0).column(0)
    assert column.compression == "ZSTD"


def test_parquet_is_written_in_groups(
    sample: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only what is in a group is in memory."""
    monkeypatch.setattr(parquet, "ROW_GROUP", 500)
    monkeypatch.setattr("tools.graphs.copy.batches.__defaults__", (100,))
    folder = exported(sample, tmp_path / "x", "parquet")
    metadata = pyarrow.parquet.ParquetFile(folder / "relations.parquet").metadata
    assert metadata.num_rows == len(expected(sample)["relation"]) > 1000
    sizes = [metadata.row_group(at).num_rows for at in range(metadata.num_row_groups)]
    assert set(sizes[:-1]) == {500} and sizes[-1] <= 500


# --- KGTK --------------------------------------------------------------------------------------


def of_kgtk(text: str) -> Any:
    """By the specification: the first character tells what it is."""
    if not text:
        return None
    if text[0] in "0123456789+-.":
        return ast.literal_eval(text)
    if text[0] == "'":
        text = text.rpartition("@")[0]
    if text[0] in "\"'":
        assert re.fullmatch(r"""(["'])(?:[^"'\\|]|\\.)*\1""", text), text
        return ast.literal_eval(text.replace(r"\|", "|"))
    assert text[0] not in "^@!#", text
    return re.sub(r"\\(x..|u....|.)", _unescaped, text)


def _unescaped(found: re.Match[str]) -> str:
    return chr(int(found[1][1:], 16)) if len(found[1]) > 1 else found[1]


def kgtk_rows(file: Path, names: dict[str, str]) -> list[dict[str, Any]]:
    header, *lines = file.read_bytes().decode().split("\n")[:-1]
    columns = header.split("\t")
    rows = []
    for line in lines:
        fields = line.split("\t")
        assert len(fields) == len(columns) and "\r" not in line
        row: dict[str, Any] = {}
        for column, field in zip(columns, fields, strict=True):
            name = names.get(column, column)
            items = re.split(r"(?<!\\)(?:\\\\)*\|", field)
            is_list = name in ("image", "audio", "visual") and field
            row[name] = [of_kgtk(item) for item in items] if is_list else of_kgtk(field)
        rows.append(row)
    return rows


def test_the_kgtk_files_say_everything_by_the_specification(file: Path, tmp_path: Path) -> None:
    folder = exported(file, tmp_path / "x", "kgtk")
    edge = {"id": "uri", "node1": "start", "node2": "end", "label": "type"}
    found = {
        "entity": kgtk_rows(folder / "nodes.tsv", {"id": "uri", "label": "name"}),
        "relation": kgtk_rows(folder / "edges.tsv", edge),
        "media": kgtk_rows(folder / "media.tsv", {"id": "path"}),
    }
    for row in found["relation"]:
        row["type"] = row["type"].removeprefix("/r/")
    assert by_key(found) == expected(file)
    assert "\n/c/en/dog\t'dog'@en\t\"en\"\t/c/en/dog\t\t" in (folder / "nodes.tsv").read_text()


# --- N-Triples ---------------------------------------------------------------------------------


def of_term(term: Any) -> Any:
    return term.toPython() if isinstance(term, Literal) else str(term)


def of_iri(node: Any) -> str:
    text = str(node)
    for base in ("http://conceptnet.io", f"{OURS}media:"):
        if text.startswith(base):
            return unquote(text.removeprefix(base), errors="strict")
    return text


@pytest.fixture(scope="module")
def triples(file: Path, tmp_path_factory: pytest.TempPathFactory) -> rdflib.Graph:
    folder = exported(file, tmp_path_factory.mktemp("nt") / "x", "ntriples")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return rdflib.Graph().parse(folder / "graph.nt")


def properties(graph: rdflib.Graph, node: Any, names: dict[str, str]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, predicate in names.items():
        for value in graph.objects(node, URIRef(predicate)):
            assert name not in found
            found[name] = of_term(value)
    return found


def media_lists(graph: rdflib.Graph, node: Any) -> dict[str, list[str]]:
    kinds = {"image": f"{SCHEMA}image", "audio": f"{SCHEMA}audio", "visual": f"{OURS}visual"}
    lists = {
        kind: sorted(map(of_iri, graph.objects(node, URIRef(each)))) for kind, each in kinds.items()
    }
    return {kind: paths for kind, paths in lists.items() if paths}


def with_sorted_lists(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [
        {key: sorted(value) if isinstance(value, list) else value for key, value in row.items()}
        for row in rows
    ]


def test_rdflib_finds_every_concept(file: Path, triples: rdflib.Graph) -> None:
    names = {"name": str(RDFS.label), "language": f"{TERMS}language", "sense": f"{OURS}sense"}
    found = [
        {"uri": of_iri(node), "term": of_iri(triples.value(node, URIRef(f"{OURS}term")))}
        | properties(triples, node, names)
        | media_lists(triples, node)
        for node in triples.subjects(RDFS.label)
    ]
    assert by_key({"entity": found})["entity"] == with_sorted_lists(expected(file)["entity"])
    (label,) = triples.objects(URIRef("http://conceptnet.io/c/zh/狗"), RDFS.label)
    assert label == Literal("狗", lang="zh")


def test_rdflib_finds_every_relation_as_triple_and_as_statement(
    file: Path, triples: rdflib.Graph
) -> None:
    names = {
        "weight": f"{OURS}weight",
        "surfaceText": f"{OURS}surfaceText",
        "license": f"{ELEMENTS}rights",
        "dataset": f"{OURS}dataset",
    }
    found = []
    for node in triples.subjects(RDF.type, RDF.Statement):
        roles = (RDF.subject, RDF.predicate, RDF.object)
        triple: Any = tuple(triples.value(node, role) for role in roles)
        assert triple in triples
        start, type_, end = map(of_iri, triple)
        found.append(
            {"uri": of_iri(node), "type": type_.removeprefix("/r/"), "start": start, "end": end}
            | properties(triples, node, names)
            | media_lists(triples, node)
        )
    assert by_key({"relation": found})["relation"] == with_sorted_lists(expected(file)["relation"])


def test_rdflib_finds_every_media_file_with_its_credits(file: Path, triples: rdflib.Graph) -> None:
    found = []
    for node in triples.subjects(RDF.type, URIRef(f"{SCHEMA}MediaObject")):
        owner = of_iri(triples.value(node, URIRef(f"{SCHEMA}about")))
        found.append(properties(triples, node, OF_MEDIA) | {"owner": owner})
        assert of_iri(node) == found[-1]["path"]
    assert by_key({"media": found})["media"] == expected(file)["media"]
    assert set(OF_MEDIA) == set(Media._fields)


def test_every_iri_is_a_valid_one(triples: rdflib.Graph) -> None:
    """RFC 3986 after non-ASCII letters are set aside."""
    valid = re.compile(r"(?:[A-Za-z0-9\-._~:/?#@!$&'()*+,;=]|%[0-9A-Fa-f]{2})+")
    for triple in triples:
        for term in triple:
            if isinstance(term, URIRef):
                letters = "".join(each for each in term if each.isascii())
                assert valid.fullmatch(letters) and not re.search(r"\s", term), term


# --- PyKEEN ------------------------------------------------------------------------------------

SIDES = ("train", "valid", "test")


def read_sides(folder: Path) -> dict[str, list[list[str]]]:
    texts = {side: (folder / f"{side}.tsv").read_bytes().decode() for side in SIDES}
    return {
        side: [line.split("\t") for line in text.split("\n")[:-1]] for side, text in texts.items()
    }


def check_split(sides: dict[str, list[list[str]]], file: Path) -> None:
    """All relations, each once, and nothing unseen in training."""
    triples = [tuple(each) for side in sides.values() for each in side]
    relations = expected(file)["relation"]
    told = [(row["start"], f"/r/{row['type']}", row["end"]) for row in relations]
    assert Counter(triples) == Counter(told)
    seen = {each for triple in sides["train"] for each in triple}
    assert {each for side in ("valid", "test") for triple in sides[side] for each in triple} <= seen


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_what_a_model_is_tried_on_occurs_in_training(
    sample: Path, tmp_path: Path, seed: int
) -> None:
    sides = read_sides(exported(sample, tmp_path / "x", "pykeen", seed=seed))
    check_split(sides, sample)
    total = sum(map(len, sides.values()))
    assert 0.08 < len(sides["valid"]) / total < 0.12
    assert 0.08 < len(sides["test"]) / total < 0.12


def test_a_hostile_graph_with_little_to_spare_is_split_too(file: Path, tmp_path: Path) -> None:
    check_split(read_sides(exported(file, tmp_path / "x", "pykeen")), file)


def test_a_uri_that_would_break_its_line_is_written_as_one(tmp_path: Path) -> None:
    """No source gives one; a graph may hold one all the same."""
    with closing(SqliteGraph(tmp_path / "graph.db")) as graph:
        write(graph, relation("IsA", "/c/en/a\tb\r\n", "/c/en/c"))
    sides = read_sides(exported(tmp_path / "graph.db", tmp_path / "x", "pykeen"))
    assert sides["train"] == [["/c/en/a%09b%0D%0A", "/r/IsA", "/c/en/c"]]


def test_an_empty_graph_gives_empty_files(tmp_path: Path) -> None:
    SqliteGraph(tmp_path / "empty.db").close()
    for name in FORMATS:
        exported(tmp_path / "empty.db", tmp_path / name, name)
    assert read_sides(tmp_path / "pykeen") == {side: [] for side in SIDES}


def test_the_same_seed_gives_the_same_split_and_another_one_another(
    sample: Path, tmp_path: Path
) -> None:
    first, again, other = (
        read_sides(exported(sample, tmp_path / name, "pykeen", seed=seed))
        for name, seed in (("first", 7), ("again", 7), ("other", 8))
    )
    assert first == again
    assert first["test"] != other["test"]


def test_what_comes_after_the_first_look_is_for_training(sample: Path, tmp_path: Path) -> None:
    """A harvest may write while its graph is exported."""
    with closing(SqliteGraph(sample)) as graph:
        split = Split(graph, 0, unseen)
    late = [relation("New", f"/c/en/new_{at}", "/c/en/dog") for at in range(100)]
    assert set(split.sides(late)) == {"train"}


def test_pykeen_reads_the_split(sample: Path, file: Path, tmp_path: Path) -> None:
    folder = exported(sample, tmp_path / "x", "pykeen")
    strange = exported(file, tmp_path / "y", "pykeen") / "train.tsv"
    labels = set(TriplesFactory.from_path(strange).entity_to_id)
    train = TriplesFactory.from_path(folder / "train.tsv")
    others = [
        TriplesFactory.from_path(folder / f"{side}.tsv", train.entity_to_id, train.relation_to_id)
        for side in ("valid", "test")
    ]
    relations = expected(file)["relation"]
    assert labels == {row[end] for row in relations for end in ("start", "end")}
    sides = read_sides(folder)
    found = [each.num_triples for each in (train, *others)]
    assert found == [len(sides[side]) for side in SIDES]
    assert set(train.entity_to_id) == {
        end for head, _, tail in sides["train"] for end in (head, tail)
    }


# --- the folder --------------------------------------------------------------------------------


@pytest.mark.parametrize("name", FORMATS)
def test_a_readme_tells_what_is_in_the_folder_and_under_which_licence(
    file: Path, tmp_path: Path, name: str
) -> None:
    folder = exported(file, tmp_path / "x", name)
    readme = (folder / "README.txt").read_text("utf-8")
    assert "CC BY-SA 4.0" in readme and "licence of its own" in readme
    for each in re.findall(r"\b\w+\.(?:csv|tsv|nt|jsonl|parquet|cypher)\b", readme):
        assert (folder / each).exists()
    assert max(map(len, readme.splitlines())) <= 100


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize("name", FORMATS)
def test_the_command_tells_what_to_do_next(
    file: Path, name: str, capfd: pytest.CaptureFixture[str]
) -> None:
    assert main(["export", "it's", "--format", name, "--graph", f"sqlite:{file}"]) == 0
    said, errors = capfd.readouterr()
    (line,) = said.splitlines()
    assert not errors
    assert line.startswith("it's is complete; ")
    read = {"rdflib": rdflib, "pandas": pandas}
    if python := re.fullmatch(r".*in Python: ((?:pandas|rdflib).*)", line):
        assert len(eval(python[1], read)) > 0
    else:
        assert "it's" in line.partition(";")[2].replace("'\"'\"'", "'")


@pytest.mark.parametrize("name", FORMATS)
def test_what_is_to_be_installed_first_is_told(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """As after `make run`, which installs none of these."""
    chosen, there = FORMATS[name], FORMATS[name].advice(Path("files"))
    for each in chosen.needs:
        monkeypatch.setitem(sys.modules, each, None)
    told = chosen.advice(Path("files"))
    wanted = f"pip install {' '.join(chosen.needs)}, then " if chosen.needs else ""
    assert told == wanted + there.rpartition(", then ")[2]
    words = re.findall(r"pandas|rdflib|pykeen(?=\.)|kgtk(?= head)", told)
    assert set(words) <= set(chosen.needs)


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--format", "xml"], "export cannot write 'xml': take one of neo4j-csv, parquet, csv, "),
        (["--format", "text"], "export cannot write 'text': take one of "),
        (["--split-seed", "1"], "--split-seed is for export --format pykeen"),
        (["--format", "csv", "--graph", "sqlite:gone.db"], "there is no graph at sqlite:gone.db"),
    ],
)
def test_what_cannot_be_is_refused_in_a_sentence(
    file: Path, here: Here, words: list[str], sentence: str
) -> None:
    assert here("export", "x", "--graph", f"sqlite:{file}", *words).startswith(
        f"2 sheaf: {sentence}"
    )
    assert not Path("x").exists() and not Path("x.part").exists()


def test_credits_are_no_parquet(file: Path, here: Here) -> None:
    told = here("credits", "--graph", f"sqlite:{file}", "--format", "parquet")
    assert told.startswith("2 sheaf: credits cannot print 'parquet'")


@pytest.mark.parametrize("name", FORMATS)
def test_an_existing_folder_is_refused_in_every_format(
    file: Path, tmp_path: Path, here: Here, name: str
) -> None:
    Path("x").mkdir()
    told = here("export", "x", "--format", name, "--graph", f"sqlite:{file}")
    assert told.startswith("2 sheaf: x exists already")
    assert [*Path("x").iterdir()] == []


def test_a_folder_of_others_is_not_emptied(file: Path, here: Here) -> None:
    Path("x.part").mkdir()
    Path("x.part/thesis.txt").write_text("mine")
    told = here("export", "x", "--graph", f"sqlite:{file}")
    assert told.startswith("2 sheaf: x.part is in the way")
    assert Path("x.part/thesis.txt").read_text() == "mine" and not Path("x").exists()


def test_two_exports_do_not_write_the_same_folder(tmp_path: Path) -> None:
    with new_folder(tmp_path / "x", "first") as unfinished:
        with (
            pytest.raises(AlreadyRunning, match="another export"),
            new_folder(tmp_path / "x", "second"),
        ):
            pass
        (unfinished / "a").touch()
    assert sorted(each.name for each in (tmp_path / "x").iterdir()) == ["README.txt", "a"]
    assert TITLE in (tmp_path / "x" / "README.txt").read_text()


@pytest.fixture
def endless(tmp_path: Path) -> Iterator[Path]:
    """A graph whose export takes longer than a kill."""
    file = tmp_path / "large.db"
    with closing(SqliteGraph(file)) as graph:
        for at in range(12):
            ends = [f"/c/en/{at}_{number}" for number in range(BATCH)]
            write(graph, *(relation("IsA", "/c/en/thing", each) for each in ends))
    yield file


def test_killed_in_the_middle_there_is_no_folder_and_the_next_export_works(
    endless: Path, file: Path, tmp_path: Path
) -> None:
    folder, part = tmp_path / "x", tmp_path / "x.part"
    export_it = start("main.py", "export", folder, "--format", "ntriples", "--graph",
                      f"sqlite:{endless}")  # fmt: skip
    try:
        growing = part / "graph.nt"
        wait_until(lambda: growing.exists() and growing.stat().st_size > 0, every_s=0.001)
        export_it.send_signal(signal.SIGKILL)
    finally:
        export_it.kill()
        export_it.communicate()
    assert export_it.returncode == -signal.SIGKILL
    assert not folder.exists() and (part / "graph.nt").exists()
    exported(file, folder, "jsonl")
    assert {each.name for each in folder.iterdir()} == {
        *("README.txt", "entities.jsonl", "relations.jsonl", "media.jsonl")
    }
    assert not part.exists()


@pytest.mark.parametrize("name", ["csv", "parquet"])
def test_a_disk_that_takes_no_more_is_told_in_a_sentence(
    sample: Path, tmp_path: Path, name: str
) -> None:
    """pyarrow writes by itself and words its errors itself."""
    words = ("export", "x", "--format", name, "--graph", f"sqlite:{sample}")
    done = subprocess.run(
        [program("prlimit", "util-linux"), "--fsize=40000", *main_py(*words)],
        cwd=tmp_path, capture_output=True, text=True, timeout=60, env=clean_environment(),
    )  # fmt: skip
    said = says(done, 5)
    assert said.startswith("sheaf: x cannot be written: ") and said.endswith("File too large")
    assert not (tmp_path / "x").exists()
