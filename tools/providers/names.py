"""Every provider of media: a line here, and beside it a module of the same name.

The settings read this list at every start, so it takes nothing heavy with it.
"""

from __future__ import annotations

from typing import Literal, NamedTuple


class Listed(NamedTuple):
    key: Literal["none", "optional", "required"] = "none"
    is_usual: bool = True  # asked unless the settings say otherwise


PROVIDERS = {
    "commons": Listed(),
    "openverse": Listed(key="optional"),
    "inaturalist": Listed(),
    "freesound": Listed(key="required"),
    "flickr": Listed(key="required"),
    "pexels": Listed(key="required"),
    "giphy": Listed(key="required"),
    "archive": Listed(is_usual=False),
}
"""In the order in which they are asked."""
USUAL = tuple(name for name, each in PROVIDERS.items() if each.is_usual)
KEYED = tuple(name for name, each in PROVIDERS.items() if each.key != "none")
