"""A peer of `bench/structure.py`: the same documents into tables by dlt, as its manual shows it.

It runs in an environment of its own, without anything of ours. Lists become tables of their own;
objects are folded into the row they stand in, so it makes fewer rows of the same documents. Its
merge is measured into an empty dataset: over 100,000 documents that are there it looks for each
row in tables without an index, and has not ended after nine minutes.

    python bench/structure_dlt.py FILE.jsonl append|merge sqlite:////tmp/x.db|postgresql://...
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

os.environ |= {
    "SCHEMA__NAMING": "duck_case",  # the other one makes every Chinese name an x
    "RUNTIME__DLTHUB_TELEMETRY": "false",
    "RUNTIME__LOG_LEVEL": "ERROR",
}

import dlt


def records(file: str) -> Iterator[dict[str, Any]]:
    with Path(file).open(encoding="utf-8") as lines:
        for line in lines:
            for key, record in json.loads(line).items():
                yield {"主键": key, **record}


def main(file: str, disposition: str, address: str) -> None:
    kinds = {"postgresql": dlt.destinations.postgres}
    destination = kinds.get(address.partition(":")[0], dlt.destinations.sqlalchemy)
    pipeline = dlt.pipeline(
        "farms", pipelines_dir="pipelines", destination=destination(address), dataset_name="farms"
    )
    resource = dlt.resource(
        records(file), name="farm", primary_key="主键", write_disposition=disposition
    )
    pipeline.run(resource).raise_on_failed_jobs()
    print(sum(pipeline.last_trace.last_normalize_info.row_counts.values()))


if __name__ == "__main__":
    main(*sys.argv[1:])
