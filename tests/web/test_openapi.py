"""What programs are told of the addresses is so."""

from __future__ import annotations

import re
from pathlib import Path

from starlette.applications import Starlette

from tests.support.command import ROOT
from tests.web.scene import Served
from tools.jobs.registry import job_in
from tools.settings import Settings
from tools.web.access import Access
from tools.web.actions import ACTIONS
from tools.web.app import Web
from tools.web.guard import Guard
from tools.web.openapi import ASKED, CHANGES
from tools.web.site import Site, Sources
from tools.web.streams import Streams

FOR_PROGRAMS = re.compile(r"/(api/.+|file/.*|thumb/.*|live/.*|metrics)(?<!openapi\.json)")
FIELD = re.compile(r"\{[^}]*\}")


def routes(folder: Path) -> set[str]:
    settings = Settings(state=folder)
    site = Site(Sources(settings, settings.pools_file, job_in))
    guard = Web(site, Access(frozenset()), Streams()).app()
    assert isinstance(guard, Guard) and isinstance(guard._app, Starlette)
    found = [getattr(each, "path", "") for each in guard._app.routes]
    plain = [re.sub("^/live/.*", "/live/{}", FIELD.sub("{}", each)) for each in found]
    return {each for each in plain if FOR_PROGRAMS.fullmatch(each)}


def test_every_address_is_described_and_no_other(tmp_path: Path) -> None:
    assert {FIELD.sub("{}", each.path) for each in ASKED} == routes(tmp_path)
    assert {each.path.removeprefix("/act/") for each in CHANGES} == {*ACTIONS}


def test_the_manual_names_every_address_with_its_fields() -> None:
    lines = (ROOT / "docs" / "serve.md").read_text("utf-8").splitlines()
    for each in (*ASKED, *CHANGES):
        about = [line for line in lines if f"`{each.path}`" in line]
        assert about, each.path
        for name in {*each.fields} - {*re.findall(r"\{(\w+)\}", each.path)}:
            assert any(f"`{name}`" in line for line in about), (each.path, name)


def test_it_is_openapi(page: Served) -> None:
    found = page.get("/api/openapi.json").json
    assert found["openapi"].startswith("3.1")
    for path, ways in found["paths"].items():
        for way, operation in ways.items():
            codes = {"get": {"200", "403", "404", "503"}, "post": {"200", "403", "409"}}[way]
            assert operation["summary"] and {*operation["responses"]} == codes
            named = {each["name"] for each in operation.get("parameters", ()) if each["required"]}
            assert named == set(re.findall(r"\{(\w+)\}", path)), (way, path)
