"""`python main.py pages show URL`: a page as it is in the archive."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import UsageError
from . import flags
from .pages_table import add_crawl, page_of, settings_of, table_of

if TYPE_CHECKING:
    from ..pages.page import Page
    from ..pages.table import PageTable
    from ..settings import Settings

EXAMPLES = (
    "python main.py pages show example.org/                   what is known of it",
    "python main.py pages show example.org/ --body > x.html   its body, unpacked",
)


class Options(flags.Options):
    url: str | None
    body: bool
    archive: Path | None


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("url", nargs="?", metavar="URL", help="the page")
    parser.add_argument("--body", action="store_true", help="only its body, unpacked")
    parser.add_argument("--archive", type=Path, metavar="DIR", help="where the WARC files are")
    add_crawl(parser)


def run(options: Options) -> int:
    from ..base.text import one_line
    from ..pages.archived import Archived, Shipped

    settings = settings_of(options)
    with table_of(settings) as table:
        page = page_of(table, options.url, settings)
        archived = Archived(table, settings.pages.archive, settings.pages.max_bytes)
        try:
            kept = archived.latest(page.url)
        except Shipped as away:
            return show_away(page, place_of(away.file, table, settings), options.body)
    if kept is None:
        raise UsageError(f"the archive holds no answer of {page.url} ({why_not(page)})")
    if options.body:
        sys.stdout.buffer.write(kept.body(settings.pages.max_bytes))
        return 0
    show_known(page)
    print(f"\nHTTP {kept.status}")
    print("\n".join(f"{name}: {one_line(value)}" for name, value in kept.headers))
    return 0


def why_not(page: Page) -> str:
    """There is nothing of it to be shown."""
    if page.remark or page.status is None:
        return page.remark or "not asked yet"
    if page.redirect:
        return f"it leads to {page.redirect}"
    return f"HTTP {page.status}" if page.digest else "it asked not to be kept"


def show_known(page: Page) -> None:
    from ..base.text import one_line
    from ..reports.progress import two_columns as shown

    known = {name: value for name, value in page._asdict().items() if value is not None}
    print(shown((name, one_line(str(value))) for name, value in known.items()))


def show_away(page: Page, place: str, wants_body: bool) -> int:
    """What the table knows of it is here all the same."""
    if wants_body:
        raise UsageError(f"its body is not here: it was shipped to {place}")
    show_known(page)
    print(f"\nshipped to {place}")
    return 0


def place_of(file: str, table: PageTable, settings: Settings) -> str:
    """On the receiving node, as far as the settings name it."""
    node, path = settings.transport, f"{(table.owner() or '')[:8]}/{file}"
    if not node.host:
        return f"the receiving node: archive/{path}"
    return f"{node.host}:{node.place('archive')}/{path}"
