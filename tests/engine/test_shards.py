"""Several coordinators by hash, each with pools of its own: what they find of each other's is
neither lost nor done twice. The exchange is the measurement's, the pools those of every harvest.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from random import Random

import pytest

from bench.shards import gather, walk
from bench.shards_outgoing import STAGE, ShardPools
from bench.shards_process import Shard, socket_of
from bench.shards_world import World, number_of, uri_of
from tests.support.chance import any_seed
from tools.engine.stage import Done, Found

URIS, SHARDS, KILLS = 3000, 3, 5
LONGEST_S = 60.0
WORLD = World(URIS, 6, SHARDS)


def opened(folder: Path, number: int = 0) -> ShardPools:
    pools = ShardPools(folder / f"{number}.db", [STAGE])
    pools.open_outgoing(WORLD, number)
    return pools


@pytest.fixture
def pools(tmp_path: Path) -> Iterator[ShardPools]:
    with closing(opened(tmp_path)) as pools:
        yield pools


def some_of(shard: int, count: int) -> list[str]:
    uris = (uri_of(number) for number in range(1, URIS))
    return [uri for uri in uris if WORLD.owner(uri) == shard][:count]


def test_killed_shards_finish_what_one_coordinator_does(tmp_path: Path) -> None:
    """Every URI exactly once over all of them."""
    alone, together, seed = tmp_path / "alone", tmp_path / "together", any_seed()
    alone.mkdir()
    together.mkdir()
    one = Shard(alone, 0, WORLD._replace(shards=1))
    while one.step():
        pass
    one.pools.close()
    expected, _ = gather(alone, WORLD._replace(shards=1))
    print("seed", seed)
    found = walk(together, WORLD, KILLS, Random(seed), LONGEST_S)
    assert found.kills == KILLS
    assert expected == bytes([1]) * URIS
    assert found.seen == expected
    assert found.tally["finished"] == found.tally["done_walk"] == URIS
    assert found.tally["to_walk"] == found.tally["failed"] == 0


def test_what_is_others_goes_out_and_what_is_known_comes_in_once(pools: ShardPools) -> None:
    own, others = some_of(0, 3), some_of(1, 2)
    assert pools.discover(Found(STAGE.name, own[:1])) == 1
    (task,) = pools.lease(STAGE)
    pools.advance((task, Done("finished", [Found(STAGE.name, [*own, *others, *others])])))
    assert sorted(uri for uri, _ in pools.next_for(1)) == sorted(others)
    assert pools.next_for(2) == []
    assert list(pools.to_walk) == own[1:]
    assert pools.pool_of(others[0]) is None


def test_what_goes_out_is_kept_until_it_is_acknowledged(tmp_path: Path) -> None:
    others = some_of(1, 3)
    with closing(opened(tmp_path)) as pools:
        pools.discover(Found(STAGE.name, others))
    with closing(opened(tmp_path)) as pools:
        assert not pools.is_idle()
        pools.acknowledged(1, others[:2], 10)
        pools.discover(Found(STAGE.name, others[:2]))  # the other is known to have them
        assert [uri for uri, _ in pools.next_for(1)] == others[2:]
    with closing(opened(tmp_path)) as pools:
        assert [uri for uri, _ in pools.next_for(1)] == others[2:]
        pools.acknowledged(1, others, 10)
        assert pools.is_idle()


def test_a_move_that_fails_sends_nothing(
    pools: ShardPools, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_counts: object) -> None:
        raise OSError

    with monkeypatch.context() as broken:
        broken.setattr(pools._register, "_write_tally", fail)
        with pytest.raises(OSError):
            pools.discover(Found(STAGE.name, some_of(1, 1)))
    assert pools.next_for(1) == []


def test_who_does_not_answer_gets_it_later(tmp_path: Path) -> None:
    shard = Shard(tmp_path, 0, WORLD)
    with closing(shard.pools):
        shard.pools.discover(Found(STAGE.name, some_of(1, 1)))
        assert not socket_of(tmp_path, 1).exists()
        assert not shard.send_batch({}, 1)
        assert len(shard.pools.next_for(1)) == 1


def test_each_uri_of_the_made_up_graph_is_found_again_by_its_number() -> None:
    numbers = [0, 1, 2, URIS - 1, 10**9]
    assert [number_of(uri_of(number)) for number in numbers] == numbers
    assert {WORLD.owner(uri_of(number)) for number in range(100)} == set(range(SHARDS))
