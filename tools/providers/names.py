"""Every provider of media: a line here, and beside it a module of the same name.

The settings read this list at every start, so it takes nothing heavy with it.
"""

from __future__ import annotations

from typing import Literal, NamedTuple


class Listed(NamedTuple):
    class_name: str  # in its module
    key: Literal["none", "optional", "required"] = "none"
    is_usual: bool = True  # asked unless the settings say otherwise


PROVIDERS = {
    "commons": Listed("Commons"),
    "openverse": Listed("Openverse", key="optional"),
    "inaturalist": Listed("INaturalist"),
    "freesound": Listed("Freesound", key="required"),
    "flickr": Listed("Flickr", key="required"),
    "pexels": Listed("Pexels", key="required"),
    "giphy": Listed("Giphy", key="required"),
    "archive": Listed("InternetArchive", is_usual=False),
}
"""In the order in which they are asked."""

USUAL = tuple(name for name, each in PROVIDERS.items() if each.is_usual)
TAKE_KEY = tuple(name for name, each in PROVIDERS.items() if each.key != "none")
NEED_KEY = tuple(name for name, each in PROVIDERS.items() if each.key == "required")
