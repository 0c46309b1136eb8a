"""`--sample`: the same job against servers of our own on this computer."""

from __future__ import annotations

from argparse import Namespace
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

from ..sample import garden, world
from ..sample.seed_bank import STRUCTURES
from ..settings import Settings


def begin_there(options: Namespace) -> None:
    """Where nobody says otherwise."""
    if options.verb == "layers":
        options.folder = options.folder or TASKS
        options.task = options.task or "shop"
    elif options.verb.startswith("structure"):
        options.folder = options.folder or STRUCTURES
    elif options.seed is None:
        options.seed = [SEEDS[options.verb]]
    if vars(options).get("delay_s", 0.0) is None:
        options.delay_s = 0.0  # on our own computer nobody has to wait


def in_sample_world(job: str, settings: Settings, stack: ExitStack) -> Settings:
    """The same settings, with those servers."""
    return IN_SAMPLE[job](settings, stack)


def _conceptnet(settings: Settings, stack: ExitStack) -> Settings:
    """With fewer files of each kind."""
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


def _pages(settings: Settings, stack: ExitStack) -> Settings:
    from ..sample.garden_site import GardenSite

    site = stack.enter_context(GardenSite())
    pages = replace(settings.pages, delay_factor=0.0)
    return replace(settings, pages=pages, proxy=replace(settings.proxy, urls=(site.url,)))


def _layers(settings: Settings, stack: ExitStack) -> Settings:
    from ..sample.shop_site import ShopSite

    site = stack.enter_context(ShopSite())
    hasty = replace(settings.layers, delay_s=0.0, delay_factor=0.0, per_host=8)
    return replace(settings, layers=hasty, proxy=replace(settings.proxy, urls=(site.url,)))


def _structure(settings: Settings, stack: ExitStack) -> Settings:
    """Its documents are files: nobody has to serve them."""
    return settings


TASKS = Path(garden.__file__).with_name("tasks")
"""Of the built-in shop."""
SEEDS = {"conceptnet": world.SEED, "pages": garden.BASE}
IN_SAMPLE = {"conceptnet": _conceptnet, "pages": _pages, "layers": _layers, "structure": _structure}
