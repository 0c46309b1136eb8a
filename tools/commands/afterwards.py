"""`--look`: the live page of what a harvest has found, when it has come to its end."""

from __future__ import annotations

import os
import shlex
import sys
import webbrowser
from typing import TYPE_CHECKING

from ..base.program import as_typed_here, module_command, module_environment
from ..base.say import say
from ..journal.reader import look
from .flags import Options
from .harvest import PAGE_PORT, load_settings

if TYPE_CHECKING:
    from ..settings import Settings

IN_TERMINAL = ("www-browser", "links", "elinks", "lynx", "w3m")
"""Browsers as Python names them."""


def show_page(options: Options) -> None:
    """In place of this process, if somebody sits before it who has a browser; else only how to,
    as after Ctrl-C."""
    settings = load_settings(options)
    words = ["serve", f"--job={options.verb}", f"--state={settings.state}"]
    if not sys.stdout.isatty() or not has_windows() or is_unfinished(settings):
        typed = f"python main.py serve --state {shlex.quote(str(settings.state))}"
        place = f"http://127.0.0.1:{PAGE_PORT}/?token=..."
        say(f"{as_typed_here(typed)} prints the address of a page that shows it, like {place}")
        return
    say("Ctrl-C ends the page; what was harvested stays")
    sys.stdout.flush()
    command = [*module_command(""), *words, "--port=0", "--open"]
    os.execve(command[0], command, module_environment())  # noqa: S606  # ourselves


def has_windows() -> bool:
    """Whether a browser can be opened; one in the terminal would hide what was printed there."""
    screens = ("DISPLAY", "WAYLAND_DISPLAY")
    if sys.platform != "darwin" and not any(map(os.environ.get, screens)):
        return False
    try:
        found = webbrowser.get()
    except webbrowser.Error:
        return False
    return vars(found).get("name") not in IN_TERMINAL


def is_unfinished(settings: Settings) -> bool:
    """Somebody stopped it, who wants to be left in peace; or nothing was begun at all."""
    if not settings.pools_file.exists():
        return True
    pools = look(settings.pools_file).pools
    return any(number for name, number in pools.items() if name.startswith(("to_", "on_")))
