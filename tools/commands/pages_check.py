"""`python main.py pages check`: do archive, index and table of a crawl say the same?

Promise: only the index is written, and that only while no crawl runs.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import AlreadyRunning, StateDamaged
from . import flags
from .pages_table import add_crawl, settings_of, table_of

if TYPE_CHECKING:
    from ..pages.table import PageTable
    from ..settings import Settings

EXAMPLES = (
    "python main.py pages check                  the crawl in state-pages",
    "python main.py pages check --archive web    its WARC files are elsewhere",
)

LONGEST = 200  # of what is told of one place


class Options(flags.Options):
    archive: Path | None
    quiet: bool


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--archive", type=Path, metavar="DIR", help="where the WARC files are")
    flags.add_quiet(parser)
    add_crawl(parser)


def run(options: Options) -> int:
    from ..base.text import amount, clipped, plain
    from ..journal.holder import running
    from ..pages.audit import audit
    from ..reports.progress import two_columns as shown

    settings = settings_of(options)
    is_growing = running(settings.state) is not None
    with table_of(settings) as table:
        found = audit(table, settings.pages.archive, settings.pages.max_bytes, is_growing)
        index = _index(settings, table)
    if not options.quiet:
        print(f"Compared\n{shown([*found.seen.items(), ('index', index)])}")
    if not found.wrong:
        if not options.quiet:
            print("archive, index and table agree")
        return 0
    print("\n".join(clipped(plain(each), LONGEST) for each in found.told))
    print(f"Wrong\n{shown(found.wrong.most_common())}")
    raise StateDamaged(
        f"archive and table do not agree in {amount(found.wrong.total(), 'place')}: bring back "
        f"{settings.pages.archive} and {settings.state} as they belong together (what a file has "
        "lost at its end the crawl asks for again when it goes on)"
    )


def _index(settings: Settings, table: PageTable) -> str:
    """What became of it; a crawl that runs writes it when it ends."""
    from ..journal.instance import only_instance
    from ..pages.archived import is_index_current, write_index

    folder = settings.pages.archive
    try:
        with only_instance(settings.state):
            if is_index_current(table, folder):
                return "as it should be"
            write_index(table, folder)
            return "written anew"
    except AlreadyRunning:
        return "left alone: a crawl runs"
