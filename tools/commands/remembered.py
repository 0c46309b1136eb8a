"""The settings of a harvest, as its user typed them: for whoever looks at it later."""

from __future__ import annotations

import shlex
from argparse import Namespace
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import HarvestError
from . import flags

if TYPE_CHECKING:
    from ..settings import Settings


def typed_for(file: Path, said: str | None = None) -> dict[str, Any]:
    """The flags that a harvest was started with: `said`, or what its state remembers. None if that
    cannot be read any more."""
    from ..journal.reader import facts_in

    try:
        command = said if said is not None else facts_in(file).get("command")
        return {} if command is None else said_by(shlex.split(command))
    except (HarvestError, ValueError):
        return {}


def said_by(words: Sequence[str]) -> dict[str, Any]:
    """Nothing, if they cannot be read: the name of a task may have come behind them."""
    from .parsing import parsed

    try:
        found: dict[str, Any] = vars(parsed(words))
        return found
    except (HarvestError, SystemExit):
        return {}


def remembered_for(options: Namespace, said: str | None = None) -> tuple[Settings, Namespace]:
    """The settings of this command with what the harvest was told besides, and the options that
    give them; what is named here wins."""
    from .harvest import load_settings

    own = flags.load(options)
    typed = typed_for(own.pools_file, said) if own.pools_file.exists() or said else {}
    if not typed:
        return own, options
    named = {name: vars(options)[name] for name in ("graph", "media") if vars(options).get(name)}
    theirs = flags.Options(**typed | named | {"quiet": True})
    try:
        return replace(load_settings(theirs), state=own.state), theirs
    except HarvestError:  # a task or a file of seeds that is not there any more
        return own, options
