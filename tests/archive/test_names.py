"""What files are called, whatever a domain is called."""

from __future__ import annotations

from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from tests.archive.scene import TIME
from tools.archive.names import LONGEST, file_name, label, number_of


@given(st.text(max_size=400))
def test_a_name_from_outside_stays_inside(domain: str) -> None:
    name = file_name(label(domain), TIME, 3)
    assert number_of(name) == 3
    assert len(Path(name).parts) == 3 and ".." not in Path(name).parts
    assert len(label(domain)) <= LONGEST and len(Path(name).name) < 255 - len(".part")


def test_domains_that_differ_have_folders_that_differ() -> None:
    domains = ["a/b", "a-b", "a b", "a:b", "x" * 300, "x" * 301, ".", "..", "", "a.", "/", "é" * 90]
    assert len({label(domain) for domain in domains}) == len(domains)


def test_one_domain_has_one_folder() -> None:
    same = ["example.org", "EXAMPLE.org", "example.org:80", "example.org:8443", "example.org."]
    assert {label(domain) for domain in same} == {"example.org"}
    assert label("[::1]") == label("::1") == "--1"


def test_others_files_are_not_called_like_ours() -> None:
    ours = file_name("example.org", TIME, 0)
    assert number_of(ours) == 0
    for other in (
        ours.replace("bf/", "00/", 1),
        ours.removeprefix("bf/"),
        ours.replace("-00000", "-0"),
        ours.replace("example.org-", "example.com-"),
        f"{ours}.part",
        f"{ours}\n",
        ours.replace("bf/", "bf/../bf/"),
    ):
        assert number_of(other) is None, other
