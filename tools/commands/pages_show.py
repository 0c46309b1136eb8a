"""`python main.py pages show URL`: a page as it is in the archive."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from ..errors import UsageError
from . import flags
from .pages_table import add_crawl, settings_of, table_of, url_of

EXAMPLES = (
    "python main.py pages show https://example.org/          what is known of it",
    "python main.py pages show example.org/ --body > x.html  its body as it was sent",
)


class Options(flags.Options):
    url: str
    body: bool
    archive: Path | None


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("url", metavar="URL", help="the page")
    parser.add_argument("--body", action="store_true", help="only its body, unpacked")
    parser.add_argument("--archive", type=Path, metavar="DIR", help="where the WARC files are")
    add_crawl(parser)


def run(options: Options) -> int:
    from ..base.text import one_line
    from ..pages.archived import Archived
    from ..reports.progress import two_columns as shown

    settings = settings_of(options)
    with table_of(settings) as table:
        url = url_of(options.url, settings)
        page = table.page(url)
        if page is None:
            raise UsageError(f"the crawl knows no page {url}")
        kept = Archived(table, settings.pages.archive, settings.pages.max_bytes).latest(url)
    if kept is None:
        raise UsageError(f"the archive holds no answer of {url} ({page.remark or 'not asked yet'})")
    if options.body:
        sys.stdout.buffer.write(kept.body(settings.pages.max_bytes))
        return 0
    known = {name: value for name, value in page._asdict().items() if value is not None}
    print(shown((name, one_line(str(value))) for name, value in known.items()))
    print(f"\nHTTP {kept.status}")
    print("\n".join(f"{name}: {one_line(value)}" for name, value in kept.headers))
    return 0
