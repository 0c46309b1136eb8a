"""Pages that are made to hurt cost seconds and megabytes, no more; each is read in a process that
the system ends if it takes too much."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.support.command import ROOT

SECONDS = 10
MEMORY = 1_500_000_000

READER = """
import resource, sys
sys.path.insert(0, sys.argv[1])
from tools.documents.html import read
resource.setrlimit(resource.RLIMIT_CPU, (int(sys.argv[2]),) * 2)
resource.setrlimit(resource.RLIMIT_AS, (int(sys.argv[3]),) * 2)
for body in eval(sys.argv[4]):
    page = read(body, "text/html", "http://h.example/a/b")
    print(len(page.links), page.left_out, sum(page.words.values()))
"""

PARAGRAPHS = "'<p>' + ''.join('<b %d>' % i for i in range(3000)) + '</p>' + '<p>x</p>' * {}"
COPIED = "b''.join(b'<%s>' % t for t in b'b big code em font i s small strike strong tt u'.split())"

PAGES = {
    "misnested": "(''.join('<b %d>' % i for i in range(4000)) + ''.join('<i %d>' % i for i in"
    " range(4000)) + 'x</b>' * 4000).encode()",
    "divs": "b'<div>' * 200_000 + b'<a href=x>y'",
    "divs of 10 MB": "b'<div>' * 2_000_000 + b'<a href=x>y'",
    "attributes": "b'<a ' + b' '.join(b'a%d=1' % i for i in range(200_000)) + b' href=x>'",
    "options": "b'<select>' + b'<option>x' * 100_000",
    "bold again in every paragraph": f"({PARAGRAPHS.format(50_000)}).encode()",
    "the same in UTF-16": f"({PARAGRAPHS.format(50_000)}).encode('utf-16')",
    "the same with escapes": "b'<meta charset=iso-2022-jp>' +"
    f" ({PARAGRAPHS.format(50_000)}).replace('<b', '<\\x1b(Bb').encode()",
    "bold without attributes": f"b'<p>' + {COPIED} * 3 + b'</p>' + b'<p>x' * 500_000",
    "links": "b''.join(b'<a href=%d>' % i for i in range(60_000))",
    "wrong links": "b''.join(b'<a href=http://?%d>' % i for i in range(60_000))",
    "links on a long base": "b'<base href=/' + b'x/' * 4000 + b'>'"
    " + b''.join(b'<a href=../%d>' % i for i in range(60_000))",
    "words": "b' '.join(b'w%x' % i for i in range(1_60_000))",
    "refresh": "b'<meta http-equiv=refresh content=\"1' + b' ' * 3_000_000 + b'\">'",
    "rel": "b'<link href=x rel=\"' + b'next ' * 600_000 + b'\">'",
    "title": "b'<title>' + b'a ' * 1_000_000",
    "bytes": "__import__('random').Random(7).randbytes(3_000_000)",
    "queries": "b'<meta charset=gbk>' + b''.join(b'<a href=\"?%d\\xd6\\xd0\">' % i for i in"
    " range(60_000))",
}
FILLINGS = [
    *(b"<", b"&", b"\0", b"x", b"<b>", b"<p><b><i><u>", b"<template>", b"<table>", b"<a href=x>"),
    *(b"<svg><foreignObject><math><mi>", b"<a><b><p></a></b>", b"<nobr>", b"<select><select>"),
]


def read_apart(pages: str) -> list[list[int]]:
    """Of each: how many links, links left out and words."""
    done = subprocess.run(
        [sys.executable, "-c", READER, str(ROOT), str(SECONDS), str(MEMORY), pages],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, (done.returncode, done.stderr[-500:])
    return [[int(number) for number in line.split()] for line in done.stdout.splitlines()]


@pytest.mark.timeout(150)
@pytest.mark.parametrize("name", PAGES)
def test_a_page_that_hurts_is_read_in_time(name: str) -> None:
    [[links, left_out, words]] = read_apart(f"[{PAGES[name]}]")
    if name.startswith("divs") or name == "attributes":
        assert links == 1
    if name.startswith("links"):
        assert (links, left_out) == (50_000, 10_000)
    if name.startswith(("bold", "the same")):
        assert words >= 50_000


@pytest.mark.timeout(150)
def test_a_page_of_nothing_but_one_thing_is_read_in_time() -> None:
    read = read_apart(f"(each * (2_000_000 // len(each)) for each in {FILLINGS!r})")
    assert len(read) == len(FILLINGS)
