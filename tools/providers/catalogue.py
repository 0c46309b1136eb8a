"""Every provider by its name, and those a harvest uses."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

from ..errors import UsageError
from ..media.offer import Provider
from ..network.client import Client
from ..network.limits import Limit
from . import archive, commons, flickr, freesound, giphy, inaturalist, openverse, pexels
from .names import KEYED
from .resting import PatientProvider
from .settings import ExtendSettings


class Known(NamedTuple):
    make: Callable[..., Provider]
    base: str
    limits: Mapping[str, Limit]


KNOWN = {
    commons.NAME: Known(commons.Commons, commons.BASE, commons.LIMITS),
    openverse.NAME: Known(openverse.Openverse, openverse.BASE, openverse.LIMITS),
    inaturalist.NAME: Known(inaturalist.INaturalist, inaturalist.BASE, inaturalist.LIMITS),
    freesound.NAME: Known(freesound.Freesound, freesound.BASE, freesound.LIMITS),
    flickr.NAME: Known(flickr.Flickr, flickr.BASE, flickr.LIMITS),
    pexels.NAME: Known(pexels.Pexels, pexels.BASE, pexels.LIMITS),
    giphy.NAME: Known(giphy.Giphy, giphy.BASE, giphy.LIMITS),
    archive.NAME: Known(archive.InternetArchive, archive.BASE, archive.LIMITS),
}


def opened(extend: ExtendSettings, client: Client) -> list[PatientProvider]:
    """Those of the settings that can be used, in their order."""
    names = usable(extend)
    if not set(names) - {giphy.NAME}:
        raise UsageError(
            f"no provider of media can be used: name one that needs no key "
            f"({commons.NAME}, {openverse.NAME}, ...) in extend.providers, or give --no-media"
        )
    return [
        PatientProvider(
            KNOWN[name].make(
                client,
                extend.licences,
                base=base_of(name, extend),
                key=extend.keys.get(name, ""),
            ),
            extend.rest_s,
        )
        for name in names
    ]


def usable(extend: ExtendSettings) -> list[str]:
    """Those that need no key, or have one."""
    return [
        name
        for name in extend.providers
        if name not in KEYED or name == openverse.NAME or name in extend.keys
    ]


def base_of(name: str, extend: ExtendSettings) -> str:
    """Where a provider is asked."""
    return extend.servers.get(name, KNOWN[name].base)


def limits(extend: ExtendSettings) -> dict[str, Limit]:
    """What the hosts of these providers allow. A key for Openverse allows more."""
    known = {host: each for name in extend.providers for host, each in KNOWN[name].limits.items()}
    if openverse.NAME in extend.providers and openverse.NAME in extend.keys:
        known |= openverse.LIMITS_WITH_KEY
    return known
