"""`--sample`: the same harvest against servers of our own on this computer."""

from __future__ import annotations

from argparse import Namespace
from contextlib import ExitStack
from dataclasses import replace

from ..sample import world
from ..settings import Settings


def begin_there(options: Namespace) -> None:
    """Where nobody says otherwise."""
    if options.seed is None:
        options.seed = [world.SEED]


def in_sample_world(settings: Settings, stack: ExitStack) -> Settings:
    """The same settings, with those servers, and fewer files of each kind."""
    from ..conceptnet.index.build import index_of  # both take their time to load
    from ..conceptnet.mirror.mirror import Mirror

    mirror = stack.enter_context(Mirror(index_of(world.lines())))
    extend = replace(settings.extend, images=min(settings.extend.images, 1), keys={})
    extend = replace(extend, sounds=min(extend.sounds, 1), gifs=min(extend.gifs, 1))
    if extend.is_wanted:
        from ..sample.media import MediaServers

        servers = stack.enter_context(MediaServers()).servers
        extend = replace(extend, servers=servers, providers=tuple(servers))
    return replace(settings, source=mirror.url, extend=extend)
