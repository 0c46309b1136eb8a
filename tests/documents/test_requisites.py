"""What a page would be shown with."""

from __future__ import annotations

import time

import pytest

from tools.documents.html import requisites_in
from tools.documents.requisites import in_srcset, in_style

pytestmark = pytest.mark.timeout(60)

PAGE = """<!DOCTYPE html><base href="/b/"><link rel="Shortcut ICON" href=i.ico>
<link rel=stylesheet href=s.css><link rel=next href=n.html><link rel=preload as=font href=f.woff2>
<style>@import "t.css"; p { background: url(u.png) }</style><script src=//cdn.example/j.js></script>
<template><img src=no.png></template><body background=w.gif>
<img src=a.png srcset="a.png 1x, a2.png 2x"><picture><source srcset=p.webp></picture>
<video src=v.mp4 poster=v.jpg></video><object data=o.svg></object><input type=image src=k.png>
<div style="background: url('d.png')"><img src="data:image/png;base64,xx" style="x: url(e.png)">
<a href=no.html>no</a><iframe src=no2.html></iframe>"""


def test_what_a_page_names() -> None:
    found = requisites_in(PAGE.encode(), "text/html", "http://h.example/x/y")
    names = ["i.ico", "s.css", "f.woff2", "t.css", "u.png", "w.gif", "a.png", "a2.png", "p.webp"]
    names += ["v.mp4", "v.jpg", "o.svg", "k.png", "d.png", "e.png"]
    wanted = {f"http://h.example/b/{name}" for name in names} | {"http://cdn.example/j.js"}
    assert set(found) == wanted and len(found) == len(wanted)


@pytest.mark.parametrize(
    "piece", ["url(", "url( ", "url('", '@import "', "@import ", ",", " ,", "a,"]
)
def test_however_long_it_takes_no_longer_than_that(piece: str) -> None:
    begun = time.process_time()
    text = piece * 200_000
    assert len(list(in_style(text))) + len(list(in_srcset(text))) <= 200_001
    assert time.process_time() - begun < 5
