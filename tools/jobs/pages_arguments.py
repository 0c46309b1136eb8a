"""The flags of the job `pages`, and the settings they change."""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path

from ..base.bounds import check
from ..base.values import finite, whole, words
from ..pages.settings import PagesSettings

OF_SETTINGS = (
    *("depth", "limit", "seconds", "scope", "archive", "database", "refetch_after"),
    *("download_workers", "analyse_workers", "control_workers", "per_host", "delay_s"),
    *("limit_per_host",),
)
"""Flags that are settings by the same name."""
CHANGED_BY = {
    **{f"pages.{name}": (name,) for name in (*OF_SETTINGS, "include", "exclude", "requisites")},
    "pages.seeds": ("seed", "seeds"),
    "pages.robots": ("no_robots",),
    "pages.sitemaps": ("no_sitemaps",),
}


def add_crawl_flags(to: argparse.ArgumentParser) -> None:
    to.add_argument("--sample", action="store_true", help="the built-in site, offline")
    _add_what(to)
    _add_how(to)


def _add_what(to: argparse.ArgumentParser) -> None:
    add = to.add_argument
    add("--seeds", type=Path, metavar="FILE", help="where to begin: an address on each line")
    add("--seed", action="append", metavar="URL", help="where to begin (repeatable)")
    add("--depth", type=whole, metavar="N", help="at most N links away from a seed (3)")
    add("--limit", type=whole, metavar="N", help="at most N pages in all; with more it goes on")
    add("--limit-per-host", type=whole, metavar="N", help="at most N pages of a host")
    add("--seconds", type=finite, metavar="S", help="stop after so long; the same command goes on")
    add("--scope", metavar="KIND", help="host (default), domain, prefix, list or any")
    add("--include", type=words, metavar="REGEX", help="these addresses too, several with commas")
    add("--exclude", type=words, metavar="REGEX", help="but not these")
    add("--refetch-after", metavar="AGE", help="ask again for what is older, such as 24h or 7d")
    add("--archive", type=Path, metavar="DIR", help="where the WARC files go (archive)")
    add(
        "--database", metavar="URL", help="the page table: sqlite:PATH or postgresql://user@host/db"
    )


def _add_how(to: argparse.ArgumentParser) -> None:
    add = to.add_argument
    add(
        "--delay",
        dest="delay_s",
        type=finite,
        metavar="S",
        help="seconds between two of a host (1)",
    )
    add("--per-host", type=whole, metavar="N", help="requests to one host at a time (1)")
    add("--no-robots", action="store_true", help="ask for what robots.txt forbids too")
    add("--no-sitemaps", action="store_true", help="sitemaps named by robots.txt are not read")
    add("--requisites", action="store_true", help="keep images, style sheets, scripts of pages too")
    at_once = "at the same time"
    add("--download-workers", type=whole, metavar="N", help=f"pages asked for {at_once} (8)")
    add("--analyse-workers", type=whole, metavar="N", help=f"pages read for links {at_once} (2)")
    add("--control-workers", type=whole, metavar="N", help="pages whose links are judged (1)")


def with_flags(settings: PagesSettings, given: argparse.Namespace) -> PagesSettings:
    """The settings with what was given on the command line."""
    flags = {name: vars(given).get(name) for name in OF_SETTINGS}
    changed = {name: value for name, value in flags.items() if value is not None}
    for name in ("include", "exclude"):
        if (texts := vars(given).get(name)) is not None:
            changed[name] = texts
    if vars(given).get("no_robots"):
        changed["robots"] = "ignore"
    if vars(given).get("no_sitemaps"):
        changed["sitemaps"] = False
    if vars(given).get("requisites"):
        changed["requisites"] = True
    settings = replace(settings, **changed)
    check(settings, "pages.")
    return settings
