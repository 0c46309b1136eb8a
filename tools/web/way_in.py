"""How a browser that we start gets in: by a page in a file that only its owner can read.

Promise: the list of processes, which every user of a computer can see, holds the address of that
file and nothing that lets anybody in. It goes as soon as it was used, and soon if it was not.
"""

from __future__ import annotations

import asyncio
import html
import logging
from collections.abc import Callable
from pathlib import Path
from threading import Thread

from .access import Access
from .own_file import own_file

logger = logging.getLogger(__name__)

LOOK_S = 0.1  # whether somebody came in


async def show_way_in(
    file: Path, address: str, access: Access, show: Callable[[str], object]
) -> None:
    """Until somebody came in by it, or it is good no longer. `show` may take as long as it likes:
    a browser in a terminal ends with its user."""
    ticket = access.ticket()
    with own_file(file, page_to(address + ticket)) as trouble:
        if trouble:
            logger.warning("%s: open the printed address in your browser", trouble)
            return
        Thread(target=show, args=(file.absolute().as_uri(),), daemon=True).start()
        while access.is_ticket(ticket):
            await asyncio.sleep(LOOK_S)


def page_to(address: str) -> str:
    where = html.escape(address)
    return (
        '<!DOCTYPE html><html lang="en"><meta charset="utf-8"><title>Sheaf</title>'
        '<meta name="referrer" content="no-referrer">'
        f'<meta http-equiv="refresh" content="0; url={where}">'
        f'<p><a href="{where}">The live page</a></p>\n'
    )
