"""The table of what was measured: what is measured again takes the place of what was there."""

from __future__ import annotations

from pathlib import Path

from bench.report import write_results


def test_each_bench_has_one_section(tmp_path: Path) -> None:
    file = tmp_path / "RESULTS.md"
    for text in ("old", "new"):
        for name in ("explore", "explore-neo4j", "web"):
            write_results({name: f"{text} {name}"}, False, file)
    written = file.read_text(encoding="utf-8")
    assert [line for line in written.splitlines() if line.startswith("## ")] == [
        "## explore",
        "## explore-neo4j",
        "## web",
    ]
    assert written.count("new ") == 3 and "old " not in written
