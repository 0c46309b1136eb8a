"""What a node brings again is known to be what the graph has, in whatever order that lists it."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

from tests.support.store_contract import image
from tools.add import Entity, Media
from tools.graphs.sqlite import SqliteGraph
from tools.jobs.conceptnet_abroad import FileCargo
from tools.media.drafts import Drafts

DOG = "/c/en/dog"


def cargo_of(media: list[Media]) -> dict[str, object]:
    kept = {"image": 1, "audio": 0, "visual": 1}
    search = {"owner": DOG, "text": "dog", "time": "", "asked": [], "kept": kept}
    return {"media": media, "search": {**search, "refused": [], "links": []}}


def test_files_are_the_same_in_any_order(tmp_path: Path) -> None:
    picture = image("en/dog/image/0.jpg")
    gif = picture._replace(path="en/dog/visual/0.gif", kind="visual", sha256="1" * 64)
    with closing(SqliteGraph(tmp_path / "graph.db")) as graph:
        graph.write([Entity.of(DOG)], [])
        graph.attach({DOG: [gif, picture]})
        cargo = FileCargo(Drafts(tmp_path / "drafts", tmp_path / "m"), graph)
        for media in ([gif, picture], [picture, gif]):
            assert cargo.is_stored(DOG, cargo_of(media))
        other = gif._replace(sha256="2" * 64)
        for media in ([picture], [picture, other], []):
            assert not cargo.is_stored(DOG, cargo_of(media))
