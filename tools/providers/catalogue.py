"""The providers of names.py with all that their modules hold, and those a harvest uses."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import NamedTuple

from ..errors import UsageError
from ..media.offer import Provider
from ..network.client import Client
from ..network.limits import Limit
from .names import NEED_KEY, PROVIDERS
from .resting import PatientProvider
from .settings import ExtendSettings


class Known(NamedTuple):
    make: Callable[..., Provider]
    base: str
    limits: Mapping[str, Limit]
    limits_with_key: Mapping[str, Limit] = {}  # where they differ
    is_link_only: bool = False


def _known(name: str, class_name: str) -> Known:
    module = import_module(f".{name}", __package__)
    provider = getattr(module, class_name)
    with_key = getattr(module, "LIMITS_WITH_KEY", {})
    return Known(provider, module.BASE, module.LIMITS, with_key, provider.is_link_only)


KNOWN = {name: _known(name, each.class_name) for name, each in PROVIDERS.items()}


def opened(extend: ExtendSettings, client: Client) -> list[PatientProvider]:
    """Those of the settings that can be used, in their order."""
    names = usable(extend)
    if all(KNOWN[name].is_link_only for name in names):
        free = [name for name in PROVIDERS if name not in NEED_KEY]
        raise UsageError(
            f"no provider of media can be used: name one that needs no key "
            f"({', '.join(free[:2])}, ...) in extend.providers, or give --no-media"
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
            client.limits.rests,
        )
        for name in names
    ]


def usable(extend: ExtendSettings) -> list[str]:
    """Those that need no key, or have one."""
    return [name for name in extend.providers if name not in NEED_KEY or name in extend.keys]


def base_of(name: str, extend: ExtendSettings) -> str:
    """Where a provider is asked."""
    return extend.servers.get(name, KNOWN[name].base)


def limits(extend: ExtendSettings) -> dict[str, Limit]:
    """What the hosts of these providers allow; to some of them a key makes a difference."""
    found: dict[str, Limit] = {}
    for name in extend.providers:
        found |= KNOWN[name].limits
        if name in extend.keys:
            found |= KNOWN[name].limits_with_key
    return found
