"""The table of what was measured: what is measured again takes the place of what was there."""

from __future__ import annotations

from pathlib import Path

from bench.report import write_results

NAMES = ("explore", "explore-neo4j", "web")


def test_each_bench_has_one_section(tmp_path: Path) -> None:
    file = tmp_path / "RESULTS.md"
    for name in NAMES:
        write_results({name: f"the first {name}."}, False, file)
    for name in NAMES:
        write_results({name: f"the second {name}."}, False, file)
        written = file.read_text(encoding="utf-8")
        heads = [line for line in written.splitlines() if line.startswith("## ")]
        assert heads == [f"## {each}" for each in NAMES]
        assert f"the second {name}." in written and f"the first {name}." not in written
