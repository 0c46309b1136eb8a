"""What is said of a harvest, on every page and in the title of its window."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from tests.support.command import run
from tests.web.scene import served
from tools.jobs.registry import job_in
from tools.reports.view import View, view_of
from tools.settings import Settings
from tools.web.site import Site, Sources


def test_a_quiet_log_kills_nobody(tmp_path: Path) -> None:
    """It says when a run begins and ends, whatever else it leaves out."""
    (tmp_path / "sheaf.toml").write_text('[log]\nlevel = "error"\n')
    done = run("main.py", "--sample", "--limit", "2", "--depth", "1", "-q", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    with served(tmp_path) as page:
        assert page.get("/api/status").json["word"] == "ended"
        assert len(page.get("/api/runs").json["beginnings"]) == 1


def test_what_was_looked_at_during_a_change_is_looked_at_again(
    harvested: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = Settings(state=harvested / "state", media=harvested / "m")
    looks: list[Path] = []
    with closing(Site(Sources(settings, settings.pools_file, job_in))) as site:

        def slow(file: Path, *rest: Any, **named: Any) -> View:
            looks.append(file)
            if len(looks) == 1:  # in that moment somebody retries what failed
                site.forget()
            return view_of(file, *rest, **named)

        monkeypatch.setattr("tools.web.site.view_of", slow)
        monkeypatch.setattr("tools.web.site.FRESH_S", 1e9)
        for _ in range(3):
            site.view()
    assert len(looks) == 2
