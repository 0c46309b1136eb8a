"""Small harvests with media: which words start them, and what they come to."""

from __future__ import annotations

from pathlib import Path

from tests.faults.injection import main_py, run
from tests.soak.compare import Essence, Places, differences, essence, flaws
from tests.support.worlds.conceptnet import World
from tests.support.worlds.media import MediaWorld

SEED = "/c/en/flea"  # 5 tasks with 17 files; with everything one relation away 70 with 241


class Harvest:
    """One harvest in a folder of its own."""

    def __init__(
        self,
        folder: Path,
        world: World,
        media: MediaWorld,
        *more: object,
        depth: int = 0,
        settings: str = "",
        tables: str = "",
        into: Path | None = None,
    ) -> None:
        """`settings` go to the top of the settings file, `tables` to its end; media go `into`."""
        folder.mkdir(parents=True, exist_ok=True)
        config = media.settings(folder)
        config.write_text(f"{settings}\n{config.read_text()}\n{tables}\n")
        self.folder = folder
        self.places = Places(folder / "state", into or folder / "m")
        self.place_words = [
            *("--config", config, "--state", self.places.state, "--media", self.places.media),
        ]
        walk = ("--source", world.url, "--seed", SEED, "--depth", depth)
        self.words = [*walk, *self.place_words, *more]

    @property
    def command(self) -> list[str]:
        return main_py(*self.words)

    def run(self) -> str:
        """To its good end; its log."""
        code, process = run(self.folder / "said", self.command)
        assert code == 0, process.log
        return process.log

    def assert_same_as(self, wanted: Essence) -> None:
        """Same as undisturbed, and sound."""
        assert flaws(self.places) == []
        assert differences(wanted, essence(self.places)) == []

    def assert_as_complete_as(self, wanted: Essence) -> None:
        """Sound, and as many files of each kind; another provider may have had them."""
        assert flaws(self.places) == []
        found = essence(self.places)
        assert (found.finished, found.searches) == (wanted.finished, wanted.searches)
