"""Writes a graph as Parquet files, compressed by zstd, with the types the records have."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
from pyarrow.parquet import ParquetWriter

from ..add import Graph
from ..graphs.copy import Show
from ..graphs.fields import Field
from .tables import Row, write_tables

ROW_GROUP = 100_000  # rows that are compressed together, and held in memory until then
TYPES = {
    str: pa.string(),
    int: pa.int64(),
    float: pa.float64(),
    list: pa.list_(pa.string()),
}


class Table:
    """One file; rows wait until there are enough for a group."""

    def __init__(self, file: Path, fields: Sequence[Field]) -> None:
        self._schema = pa.schema(
            [pa.field(each.name, TYPES[each.type], each.is_optional) for each in fields]
        )
        self._writer = ParquetWriter(file, self._schema, compression="zstd")
        self._waiting: list[pa.RecordBatch] = []

    def add(self, rows: Sequence[Row]) -> None:
        if not rows:
            return
        columns = zip(*rows, strict=True)
        arrays = [
            pa.array(values, field.type)
            for values, field in zip(columns, self._schema, strict=True)
        ]
        self._waiting.append(pa.RecordBatch.from_arrays(arrays, schema=self._schema))
        if sum(batch.num_rows for batch in self._waiting) >= ROW_GROUP:
            self._flush()

    def close(self) -> None:
        try:
            self._flush()
        finally:
            self._writer.close()

    def _flush(self) -> None:
        if self._waiting:
            self._writer.write_table(pa.Table.from_batches(self._waiting))
            self._waiting = []


def write(graph: Graph, folder: Path, show: Show) -> None:
    write_tables(Table, "parquet", graph, folder, show)
