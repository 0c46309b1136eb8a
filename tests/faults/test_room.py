"""Files of tasks that wait for a provider neither fill the disk nor hold the harvest up."""

from __future__ import annotations

import os
import signal
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tests.faults.harvests import Harvest
from tests.faults.injection import Clock, Process, main_py, run, wait_until
from tests.soak.compare import PATH, SHA256, flaws, on_disk
from tests.support.command import records
from tests.support.shipped import assert_merged, json_lines, new_node, receive
from tests.support.worlds.conceptnet import World
from tests.support.worlds.media import MediaWorld
from tools.journal.reader import look

IMPATIENT = (  # what is a matter of minutes takes a moment
    "import sys; from tools.engine import monitor; monitor.LONG_HOLD_S = 0.3; "
    "monitor.LONGEST_WAIT_S = 0.1; import main; sys.exit(main.main(sys.argv[1:]))"
)
NO_ROOM = "reserve_bytes = 1_000_000_000_000_000"
MEASURED = "reserve_bytes = 0"


def command(harvest: Harvest) -> list[str]:
    return [sys.executable, "-c", IMPATIENT, *map(str, harvest.words)]


def budget(media: MediaWorld, searches: int) -> str:
    """So many searches a day of everybody but the first: most tasks wait for a day."""
    others = [urlsplit(url).netloc for name, url in media.servers.items() if name != "commons"]
    limits = ", ".join(f'"{host}" = ["{searches}/day"]' for host in others)
    return f"[http]\ntries = 1\nlimits = {{{limits}}}"


def with_budget(harvest: Harvest, media: MediaWorld, searches: int) -> Harvest:
    config = harvest.folder / "media.toml"
    config.write_text(config.read_text().replace("[http]\ntries = 1", budget(media, searches)))
    return harvest


def pools(harvest: Harvest) -> Counter[str]:
    return Counter(look(harvest.places.pools).pools)


def at_rest(harvest: Harvest) -> bool:
    """All that is left waits for a day."""
    if not harvest.places.pools.exists():
        return False
    seen = pools(harvest)
    return not sum(seen[name] for name in ("to_fetch", "on_fetch", "on_extend")) and (
        seen["finished"] > 0 and len(drafts(harvest)) == seen["to_extend"]
    )


def drafts(harvest: Harvest) -> list[Path]:
    return list((harvest.places.state / "drafts").rglob("*.json"))


def in_books(harvest: Harvest) -> list[str]:
    path = harvest.places.media / "MEDIA.jsonl"
    return sorted(line["path"] for line in json_lines(path)) if path.exists() else []


def stop(process: Process) -> None:
    process.signal(signal.SIGTERM)
    assert process.end() == 0, process.log


@pytest.fixture
def own_media() -> Iterator[MediaWorld]:
    with MediaWorld() as media:
        yield media


def test_without_room_what_waits_is_ended_with_what_it_has_and_nothing_begins(
    tmp_path: Path, world: World, own_media: MediaWorld
) -> None:
    def harvest(settings: str) -> Harvest:
        made = Harvest(tmp_path / "h", world, own_media, depth=1, settings=settings)
        return with_budget(made, own_media, 3)

    with Process(tmp_path / "said", command(first := harvest(MEASURED))) as process:
        wait_until(lambda: at_rest(first), "a wait for tomorrow")
        stop(process)
    there, waiting, asked = on_disk(first.places.media), pools(first), len(own_media.paths)
    assert len(in_books(first)) < len(there) and len(drafts(first)) > 10

    with Process(tmp_path / "said", command(harvest(NO_ROOM))) as process:
        wait_until(lambda: in_books(first) == sorted(there), "every file is in the books")
        stop(process)
    assert on_disk(first.places.media).keys() == there.keys(), "files came or went"
    assert len(own_media.paths) == asked, "somebody was asked, or something fetched"
    assert sorted(row[PATH] for row in records(first.places.graph)["media"]) == sorted(there)
    assert pools(first)["finished"] > waiting["finished"]

    clock = Clock(tmp_path / "offset")
    clock.at("2030-06-01T10:20:00")  # and there is room again
    ended = Harvest(tmp_path / "h", world, own_media, depth=1, settings=MEASURED)
    with Process(tmp_path / "said", command(ended), **clock.environment) as process:
        assert process.end() == 0, process.log
    assert flaws(ended.places) == []


def test_files_of_waiting_tasks_count_for_the_outbox_and_are_shipped(
    tmp_path: Path, world: World, own_media: MediaWorld
) -> None:
    """A budget of three searches a day and an outbox for a tenth of the files."""
    with new_node("sshd", tmp_path / "node") as node:
        table = node.settings(volume_mb=0.05, outbox_mb=0.1)
        place = tmp_path / "h"
        made = Harvest(place, world, own_media, depth=1, settings=MEASURED, tables=table)
        harvest = with_budget(made, own_media, 3)
        with Process(tmp_path / "said", command(harvest)) as process:
            process.wait_for("which is the limit (transport.outbox_mb)")
            wait_until(lambda: at_rest(harvest) and weight(harvest) < 100_000, "room")
            stop(process)
        code, process = run(tmp_path / "said", main_py("ship", *harvest.place_words))
        assert code == 0, process.log
        receive(node.folder)
        recorded = {row[PATH]: row[SHA256] for row in records(harvest.places.graph)["media"]}
        assert len(recorded) > 100
        assert_merged(node.folder, recorded)


def weight(harvest: Harvest) -> int:
    """Of all files that are still here; some may be on their way out."""
    sizes = 0
    for folder, _, names in os.walk(harvest.places.media):  # which minds no folder that goes away
        for name in names:
            with suppress(FileNotFoundError):
                sizes += Path(folder, name).stat().st_size
    return sizes
