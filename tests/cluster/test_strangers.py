"""Whoever has a node's key may say anything: what is wrong is refused, stored nowhere, and spends
nobody's attempt; one who goes on with it is sent away."""

from __future__ import annotations

import json
from collections.abc import Iterator
from copy import deepcopy
from pathlib import Path
from random import Random
from typing import Any

import orjson
import pytest
import zstandard

from tests.support.chance import any_seed
from tests.support.nats_server import NatsServer, running_nats
from tests.support.office import (
    Office,
    Stranger,
    file_result,
    page_result,
    quietly,
    until,
)
from tools.cluster import desk
from tools.cluster.bus import PACKED, PLAIN, packed
from tools.cluster.messages import Found, Question, Refused, Result, Shipped
from tools.cluster.subjects import SAY, from_node, next_tasks
from tools.cluster.wire import LONGEST_DELAY_S, encoded
from tools.uri import media_folder

FUZZED = 10_000
DOG, PET = "/c/en/dog", "/c/en/pet"


def media_of(owner: str, number: int = 1) -> list[Any]:
    path = f"{media_folder(owner)}/image/{number}.jpg"
    texts = ["cc0", None, "somebody", "http://x/", "http://x/1.jpg", "x", "title", None, None, None]
    return [path, "image", "image/jpeg", "a" * 64, 1000, 640, 480, None, *texts]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[NatsServer]:
    with running_nats(tmp_path_factory.mktemp("nats") / "cluster") as server:
        yield server


@pytest.fixture
def office(tmp_path: Path, server: NatsServer) -> Iterator[Office]:
    with Office(tmp_path, server, seeds=(DOG, "/c/en/cat")) as office:
        yield office


@pytest.fixture
def alpha(server: NatsServer) -> Iterator[Stranger]:
    with Stranger(server) as alpha:
        yield alpha


# --- ten thousand of them --------------------------------------------------------------------

HOSTILE: tuple[Any, ...] = (
    *(True, False, [], {}, [[]], [None], {"a": {}}, -1, -1.5, 2**63 - 1, 2**64 - 1, 1e308, -1e308),
    *("", "\0", "../../../etc/passwd", "/etc/passwd", "..", "x" * 200_000, "on_fetch", "finished"),
    *("http://x/", "/c/en/a b", "/c/en/../dog", "__class__", "media/x", "'; DROP TABLE uri; --"),
)
TEXTS = ("surface_text", "license", "dataset")
FREE = {  # where a text, or none, is as good as any other
    *(("cargo", n, field) for n in range(2) for field in (5, 6, 7)),
    *(("cargo", "media", 0, field) for field in (2, *range(8, 18))),
    *(("cargo", "search", name) for name in ("text", "time")),
}
NUMBERS = {("cargo", "media", 0, field) for field in (5, 6, 7)}
WEIGHTS = {("cargo", n, 4) for n in range(2)}


def paths_in(tree: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """To every place of it."""
    if path:
        yield path
    items: Any = tree.items() if isinstance(tree, dict) else ()
    for key, value in enumerate(tree) if isinstance(tree, list) else items:
        yield from paths_in(value, (*path, key))


def is_harmless(path: tuple[Any, ...], value: Any) -> bool:
    if path in FREE or path[:3] == ("cargo", "search", "asked"):
        is_short = isinstance(value, str) and len(value) < 20_000 and "\0" not in value
        return is_short or (path[-1:] == ("asked",) and value == [])
    if path in WEIGHTS:
        return type(value) in (int, float) and value > 2
    if path in (("cargo", "search", "refused"), ("cargo", "search", "links")):
        return bool(value == [])
    if path[:2] == ("done", "found") and value == []:
        return len(path) == 2 or (len(path) == 4 and path[-1] == 1)  # it found less
    if path == ("done", "found", 0, 1, 0):
        return False
    return path == ("done", "facts") and value == {}


def mutated(result: Result, chance: Random) -> bytes | None:
    """None if it came out harmless."""
    message = deepcopy(result._asdict())
    tree = {name: message[name] for name in ("done", "cargo")}
    path = chance.choice(list(paths_in(tree)))
    value = chance.choice(HOSTILE)
    if is_harmless(path, value):
        return None
    *way, last = path
    place = tree
    for key in way:
        place = place[key]
    if place[last] == value and type(place[last]) is type(value):
        return None
    if isinstance(place, dict) and chance.random() < 0.2:
        place[str(value)[:50]] = place.pop(last)
    else:
        place[last] = value
    message.update(tree)
    return packed(orjson.dumps(["Result", *message.values()]))


def garbage(result: Result, chance: Random) -> bytes:
    """No message at all, or one that is too much."""
    content = encoded(result)
    cut = chance.randrange(len(content))
    deep = b'["Result",1,"fetch","/c/en/dog",null,null,' + b"[" * 5000 + b"]" * 5000 + b",null]"
    return chance.choice(
        [
            PLAIN + content[:cut],
            PLAIN + content[:cut] + bytes([chance.randrange(256)]) + content[cut + 1 :] + b"]",
            chance.randbytes(200),
            PACKED + chance.randbytes(200),
            PLAIN + deep,
            PLAIN + content.replace(b"null", b"NaN", 1),
            PLAIN + json.dumps(["Work", *result]).encode(),
            PLAIN + b'["Judged",1,"settled"]',
            PLAIN + b'["Nobody",1]',
            b"",
        ]
    )


@pytest.fixture
def beta(server: NatsServer) -> Iterator[Stranger]:
    with Stranger(server, "beta") as beta:
        yield beta


def test_ten_thousand_fuzzed_results_change_nothing(
    office: Office, alpha: Stranger, beta: Stranger, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever sends them is let go on here, so that each is judged."""
    monkeypatch.setattr(desk, "MOST_FAULTS", 10**9)
    alpha.join()
    beta.join()
    alpha.pulse(fetch=4, extend=4)
    first = alpha.take("fetch")
    assert alpha.bring(page_result(first.token, first.uri, PET)) == "settled"
    alpha.pulse()  # nothing more is handed out: what is brought of what waits is looked at
    until(lambda: office.executor.places("fetch") == 0, "it takes no more")
    for stage in ("fetch", "extend"):
        office.executor.recall(stage)
    until(lambda: office.pools.at_work == 0, "nobody has anything")
    before = office.essence()

    honest = [page_result(0, PET, "/c/en/animal", DOG), file_result(0, DOG, media_of(DOG))]
    seed = any_seed()
    print(f"seed {seed}")
    chance = Random(seed)
    with quietly():
        sent = send_all(alpha, beta, honest, chance)
        until(lambda: is_heard(alpha), "all are heard", 120)
    assert sent == FUZZED
    after = office.essence()
    assert {name: after[0][name] for name in after[0] if after[0][name] != before[0][name]} == {}
    assert after[1] == before[1]
    assert office.pools.at_work == 0

    alpha.pulse(fetch=4, extend=4)
    for result in (page_result(7, PET, "/c/en/animal"), file_result(8, DOG, media_of(DOG))):
        assert alpha.bring(result) == "settled", "it goes on"


def send_all(alpha: Stranger, beta: Stranger, honest: list[Result], chance: Random) -> int:
    sent, token = 0, 1 << 50
    beta.pulse()  # alpha is not the only one
    assert is_heard(beta)
    while sent < FUZZED:
        token += 1
        result = chance.choice(honest)._replace(token=token)
        content = mutated(result, chance) if chance.random() < 0.9 else garbage(result, chance)
        if content is not None and len(content) < 1_000_000:
            alpha.shout(content)
            sent += 1
            if sent % 250 == 0:
                beta.pulse()
                until(lambda: is_heard(alpha), "these are heard", 60)
    return sent


def is_heard(alpha: Stranger) -> bool:
    """What is answered after all that was said before."""
    alpha.say(Question(1, "nothing", []))
    alpha.hear(Found, seconds=60)
    return True


# --- the large ones --------------------------------------------------------------------------


def test_bombs_and_what_is_too_large_are_refused(
    office: Office, alpha: Stranger, beta: Stranger
) -> None:
    alpha.join()
    before = office.essence()
    bomb = zstandard.compress(b'["Result",' + b" " * 500_000_000, 1)
    assert len(bomb) < 100_000
    with quietly():
        alpha.shout(PACKED + bomb)
        alpha.shout(PLAIN + b"[" * 8_000_000)
        assert is_heard(alpha)
    assert office.essence() == before
    alpha.shout(PLAIN + b" " * 9_000_000)  # the server itself hangs up
    beta.join()
    assert is_heard(beta), "others are heard"


# --- who goes on is sent away ----------------------------------------------------------------


@pytest.mark.parametrize("kind", ["garbage", "results"])
def test_who_says_a_hundred_wrong_things_is_sent_away(
    office: Office, alpha: Stranger, beta: Stranger, kind: str
) -> None:
    alpha.join()
    beta.join()
    wrong = page_result(0, DOG, PET)._replace(cargo="no page")
    with quietly():
        for number in range(desk.MOST_FAULTS):
            result = wrong._replace(token=1000 + number)
            alpha.shout(b"nonsense" if kind == "garbage" else packed(encoded(result)))
        refused = alpha.hear(Refused)
        assert isinstance(refused, Refused) and "100 things" in refused.reason
        assert office.executor.places("fetch") == 0
        before = office.essence()
        again = alpha.introduce()
        assert isinstance(again, Refused) and "100 things" in again.reason
        alpha.session = "another"
        assert isinstance(alpha.introduce(), Refused), "nor under another session"
        alpha.say(page_result(9999, DOG, PET))
        alpha.say(Shipped(1, [DOG]))
        assert is_heard(beta)
    assert office.essence() == before, "what it says is heard no more"
    assert not any(row[3] for row in before[0]["uri"]), "nobody's attempt is spent"


def test_a_second_node_that_agrees_spends_an_attempt(
    office: Office, alpha: Stranger, beta: Stranger
) -> None:
    """A page that nobody can bring as it should be is tried no more often than any other."""
    with quietly():
        alpha.join()
        beta.join()
        for who, attempts in ((alpha, 0), (alpha, 0), (beta, 1)):
            wrong = page_result(attempts + id(who), DOG, PET)._replace(cargo=[["x"]])
            assert who.bring(wrong) == "again"
            written = {row[0]: row[3] for row in office.essence()[0]["uri"]}
            assert written[DOG] == attempts


def test_what_is_said_of_another_task_is_refused(office: Office, alpha: Stranger) -> None:
    """By its stage and its URI a result belongs to the task whose token it has."""
    alpha.join()
    alpha.pulse(fetch=4)
    work = alpha.take("fetch")
    other = "/c/en/cat" if work.uri == DOG else DOG
    for wrong in (
        page_result(work.token, other, PET),
        page_result(work.token, work.uri, PET)._replace(stage="extend"),
    ):
        with quietly():
            alpha.say(wrong)
            assert is_heard(alpha)
    assert alpha.bring(page_result(work.token, work.uri, PET)) == "settled"


def test_a_word_under_no_nodes_name_is_dropped(
    office: Office, alpha: Stranger, beta: Stranger
) -> None:
    """The server does not check where a node has its tasks delivered."""
    alpha.join()
    beta.join()
    alpha.pulse(fetch=4)
    until(lambda: office.pools.at_work, "something is handed out")
    alpha.bus.say(next_tasks("fetch"), b'{"batch": 1}', from_node("beta", SAY))
    assert is_heard(alpha) and is_heard(beta)
    seen = office.executor.roster["beta"]
    assert seen is not None and seen.faults == 0


def test_an_error_names_no_delay_that_would_last_for_ever(office: Office, alpha: Stranger) -> None:
    alpha.join()
    table = {"name": "RetryLater", "text": "later", "delay": 1e300, "status": None}
    assert alpha.bring(Result(5, "fetch", DOG, None, table, None, None)) == "again"
    until(lambda: office.pools.seconds_to_next_due(office.harvest.job.stages[0]), "it waits")
    soon = office.pools.seconds_to_next_due(office.harvest.job.stages[0])
    assert soon is not None and soon < LONGEST_DELAY_S + 1
