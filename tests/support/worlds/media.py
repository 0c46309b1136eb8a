"""The sample's media servers in this process: they can be counted, and taken down."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import ExitStack
from pathlib import Path
from threading import Condition
from typing import Self

from tools.conceptnet.mirror.pages import json_error
from tools.network.reply import Reply
from tools.network.server import Serving
from tools.sample import sites


class MediaWorld:
    """`down` decides by a provider's name and the paths asked so far whether it answers 503."""

    def __init__(
        self, down: Callable[[str, list[str]], bool] = lambda _name, _paths: False
    ) -> None:
        self._down = down
        self._holding = ExitStack()
        self._arrival = Condition()
        self.paths: list[str] = []
        self.refused: list[str] = []
        self.servers: dict[str, str] = {}

    def __enter__(self) -> Self:
        for site in sites.sites():
            server = sites.SiteServer(_Watched(site, self))
            self.servers[site.name] = self._holding.enter_context(Serving(server, site.name)).url
        return self

    def __exit__(self, *_: object) -> None:
        self._holding.close()

    def settings(self, folder: Path, **more: object) -> Path:
        """A settings file that names these servers; everybody waits for all there is."""
        lines = [f"{key} = {value}" for key, value in more.items()]
        lines += [
            "images = 2", "sounds = 1", "gifs = 1", "rest_s = 0.2",
            *([] if "enough" in more else ["enough = 2"]), "[extend.servers]",
            *(f'{name} = "{url}"' for name, url in self.servers.items()),
        ]  # fmt: skip
        path = folder / "media.toml"
        path.write_text("\n".join(["[http]", "tries = 1", "[extend]", *lines]))
        return path

    def wait_for(self, count: int, timeout: float = 20.0) -> None:
        """Block until so many requests have arrived."""
        with self._arrival:
            if not self._arrival.wait_for(lambda: len(self.paths) >= count, timeout):
                raise TimeoutError(f"{len(self.paths)} requests instead of {count}")

    def answer(self, site: sites.Site, base: str, path: str, query: Mapping[str, str]) -> Reply:
        with self._arrival:
            self.paths.append(f"{site.name}{path}")
            self._arrival.notify_all()
            is_down = self._down(site.name, self.paths)
        if is_down:
            self.refused.append(site.name)
            return json_error(503, "out of order")
        return site.answer(base, path, query)


class _Watched:
    def __init__(self, site: sites.Site, world: MediaWorld) -> None:
        self.name = site.name
        self._site = site
        self._world = world

    def answer(self, base: str, path: str, query: Mapping[str, str]) -> Reply:
        return self._world.answer(self._site, base, path, query)
