"""The settings of a harvest, as its user typed them: for whoever looks at it later."""

from __future__ import annotations

import shlex
from argparse import Namespace
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
    from .parsing import parsed

    try:
        command = said if said is not None else facts_in(file).get("command")
        return {} if command is None else vars(parsed(shlex.split(command)))
    except (HarvestError, ValueError, SystemExit):
        return {}


def settings_for(options: Namespace, said: str | None = None) -> Settings:
    """Those of this command, with what the harvest was told besides; what is named here wins."""
    from .harvest import load_settings

    own = flags.load(options)
    typed = typed_for(own.pools_file, said) if own.pools_file.exists() or said else {}
    if not typed:
        return own
    try:
        theirs = load_settings(flags.Options(**typed | {"quiet": True}))
    except HarvestError:  # a task or a file of seeds that is not there any more
        return own
    named = {name: getattr(own, name) for name in ("graph", "media") if vars(options).get(name)}
    return replace(theirs, state=own.state, **named)
