"""What `make` installs is pinned with hashes, within the ranges that people read."""

from __future__ import annotations

import re

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.support.command import ROOT

PIN = re.compile(r"^(?P<name>[\w.-]+)==(?P<version>[^ ;]+)(?P<rest>.*(?:\n    .*)*)", re.M)
NAMES = ["requirements", "requirements-dev"]


def pinned(name: str) -> dict[str, str]:
    """Versions by package; each must have a hash."""
    pins = list(PIN.finditer((ROOT / f"{name}.lock").read_text(encoding="utf-8")))
    assert [pin["name"] for pin in pins if "--hash=sha256:" not in pin["rest"]] == []
    return {canonicalize_name(pin["name"]): pin["version"] for pin in pins}


def wanted(name: str) -> list[Requirement]:
    lines = (ROOT / f"{name}.txt").read_text(encoding="utf-8").splitlines()
    return [Requirement(line) for line in lines if line and not line.startswith(("#", "-r"))]


@pytest.mark.parametrize("name", NAMES)
def test_each_requirement_is_pinned_within_its_range(name: str) -> None:
    versions = pinned(name)
    outside = [
        f"{each} but {versions.get(canonicalize_name(each.name))}"
        for each in wanted(name)
        if not each.specifier.contains(versions.get(canonicalize_name(each.name), "0.0.0.dev0"))
    ]
    assert wanted(name) and outside == []


def test_the_tests_run_with_the_versions_that_a_harvest_gets() -> None:
    assert pinned("requirements").items() <= pinned("requirements-dev").items()
