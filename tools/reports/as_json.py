"""What is known of a harvest, for programs: numbers, lists and nothing as such."""

from __future__ import annotations

from collections.abc import Iterable

import orjson

from .text import series
from .view import SPANS, View


def as_json(view: View) -> str:
    seen, assist, course, left_ = view.seen, view.seen.assist, view.course, view.left
    fields = {
        "pools": seen.pools,
        view.job.store_title: view.stored,
        "done": seen.done,
        "failures": seen.failures,
        "harvest": view.job.typed_facts(seen.facts),
        "file": str(view.file),
        "format": seen.format,
        "time": view.now,
        "running": view.running._asdict() if view.running else None,
        "paused_since": view.paused_since,
        "next_round_at": view.next_round,
        "paused_workers": view.paused_slots,
        "processes": [each._asdict() for each in view.processes],
        "nodes": [each._asdict() for each in view.nodes],
        "source_file": seen.file._asdict() if seen.file else None,
        "runs": assist.runs,
        "worked_s": assist.worked + course.since_known,
        "sampled_at": assist.samples[-1].time if assist.samples else None,
        "rates_per_s": {
            name: {span: course.rate(value, s, is_known) for span, s in SPANS.items()}
            for name, value, is_known, _ in series(view)
        },
        "left_s": left_.time._asdict() if left_.time else None,
        "left_unknown": left_.why or None,
        "left_at_least_s": left_.time.low if left_.time else left_.least,
        "hosts": {name: {"requests": n, "bytes": b} for name, (n, b) in assist.hosts.items()},
        **view.job.for_programs(seen.counts),
        "panels": [panel._asdict() for panel in view.panels],
        "failures_by_gist": [
            {"gist": each.reason_group, "number": each.number, "examples": each.examples}
            for each in seen.groups
        ],
        "failures_left_out": seen.rare_groups._asdict(),
        "chores": {name: clock_work._asdict() for name, clock_work in assist.clock_works.items()},
        "snapshots": [copy._asdict() for copy in view.copies],
    }
    return orjson.dumps(fields, default=str).decode()


def failed_as_json(rows: Iterable[tuple[str, str, int]]) -> str:
    names = ("uri", "reason", "attempts")
    return orjson.dumps([dict(zip(names, row, strict=True)) for row in rows]).decode()
