"""A graph as files that other tools read: the formats, and one way to write any of them.

Promise: the folder appears when everything is in it, and though the graph may grow meanwhile
everything that is named in it is in it, too. However large the graph, only some thousand
records are in memory; where a format needs more, its module says so.
"""

from __future__ import annotations

import shlex
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from textwrap import fill
from typing import Any, NamedTuple

from ..add import Counts, Graph
from ..errors import UsageError
from ..graphs.copy import Show
from .folder import new_folder

DEFAULT = "neo4j-csv"


class Format(NamedTuple):
    """How a format is called upon, and what its user is advised."""

    module: str  # its `write` is loaded when it is wanted: pyarrow and numpy take their time
    contents: str
    main_file: str
    next: str
    needs: tuple[str, ...] = ()  # packages to do so, most of which Sheaf itself does without
    reads: Counts = Counts(1, 1, 1)  # how often it goes through the records

    def advice(self, folder: Path) -> str:
        """What to do next, to be copied as it is; first of all what to install."""
        file = str(folder / self.main_file)
        missing = [each for each in self.needs if not find_spec(each)]
        install = f"pip install {' '.join(missing)}, then " if missing else ""
        words = {"folder": shlex.quote(str(folder)), "file": file, "word": shlex.quote(file)}
        return install + self.next.format(**words)

    def work(self, counts: Counts) -> int:
        return sum(number * times for number, times in zip(counts, self.reads, strict=True))


FORMATS = {
    "neo4j-csv": Format(
        "neo4j_csv",
        "entities, relations and media with their headers, as `neo4j-admin database import full`"
        " reads them. schema.cypher makes the indexes, which an import does not.",
        "relations.csv",
        "load it into a stopped server: scripts/neo4j import {folder}",
    ),
    "parquet": Format(
        "parquet",
        "entities.parquet, relations.parquet and media.parquet, compressed by zstd. `image`,"
        " `audio` and `visual` are lists of paths of media.",
        "relations.parquet",
        "read it in Python: pandas.read_parquet({file!r})",
        needs=("pandas", "pyarrow"),
    ),
    "csv": Format(
        "csv_files",
        "entities.csv, relations.csv and media.csv in UTF-8. An empty field is null or an empty"
        " text; `image`, `audio` and `visual` are JSON lists of paths of media. Texts stand as they"
        " are: a spreadsheet may take one that begins with = + - or @ for a formula, so import the"
        " columns as text.",
        "relations.csv",
        'read it in Python: pandas.read_csv({file!r}, keep_default_na=False, na_values=[""])',
        needs=("pandas",),
    ),
    "jsonl": Format(
        "jsonl",
        "entities.jsonl, relations.jsonl and media.jsonl, an object on each line. `image`, `audio`"
        " and `visual` are lists of paths of media.",
        "relations.jsonl",
        "read it in Python: pandas.read_json({file!r}, lines=True)",
        needs=("pandas",),
    ),
    "kgtk": Format(
        "kgtk",
        "edges.tsv is a KGTK edge file, nodes.tsv and media.tsv are node files. `image`, `audio`"
        " and `visual` are lists of nodes of media.tsv.",
        "edges.tsv",
        "look at it with KGTK: kgtk head -i {word}",
        needs=("kgtk",),
    ),
    "ntriples": Format(
        "ntriples",
        "graph.nt. Every relation is a triple, and a statement of its own that bears weight,"
        " licence and text; every media file is a node with its credits.",
        "graph.nt",
        "read it in Python: rdflib.Graph().parse({file!r})",
        needs=("rdflib",),
    ),
    "pykeen": Format(
        "pykeen",
        "train.tsv, valid.tsv and test.tsv: head, relation, tail; whatever occurs in the last two"
        " occurs in the first. Names, weights, media and their credits are in entities.csv,"
        " relations.csv and media.csv, the types of relations in relation_types.csv.",
        "train.tsv",
        "read it in Python: pykeen.triples.TriplesFactory.from_path({file!r})",
        needs=("pykeen",),
        reads=Counts(2, 2, 1),
    ),
}

README = """{contents}

What is not ours, and under which licence:
- Entities and relations come from ConceptNet 5 (https://conceptnet.io), under CC BY-SA 4.0
  (https://creativecommons.org/licenses/by-sa/4.0/): name it, and pass them on under the same
  licence. The licence a relation bears is that of the data it was made from.
- Media are no part of this folder; paths begin in the media folder of the harvest. Every file is
  under a licence of its own, which stands in its record with author and page: name them.
"""


def format_named(name: str) -> Format:
    if name not in FORMATS:
        raise UsageError(f"export cannot write {name!r}: take one of {', '.join(FORMATS)}")
    return FORMATS[name]


def export(graph: Graph, folder: Path, show: Show, name: str = DEFAULT, **options: Any) -> None:
    """Options are those of the format."""
    chosen = format_named(name)
    contents = fill(f"In it: {chosen.contents}", 100, break_on_hyphens=False)
    write = import_module(f".{chosen.module}", __package__).write
    with graph.still() as moment, new_folder(folder, README.format(contents=contents)) as part:
        write(moment, part, show, **options)
