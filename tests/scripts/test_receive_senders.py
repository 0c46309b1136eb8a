"""Several senders, each with a folder and a secret of its own: none can touch what is another's."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable, Iterator
from itertools import permutations
from pathlib import Path

import pytest

from tests.support.crafted import (
    CANNOT,
    DOG,
    FINE,
    HARVEST,
    OTHER_HARVEST,
    QUARANTINED,
    Batch,
    Receive,
    archive_batch,
    assert_all_taken,
    assert_has,
    assert_nothing_merged,
    batch,
    close,
    lines,
    merged,
    name_of,
    new_node,
    reason_for,
    receipt,
    receive,
    receive_as_user,
    receiving,
    records,
    sha256,
    sign,
    tree,
)

OAKS, ELMS = "the secret of oak", "the secret of elm"
CAT = {"en/cat/image/0.jpg": b"cat" * 1000}
X = "en/x/image/0.jpg"
EARLY, LATE, LATEST = (f"2024-11-17T12:00:0{second}Z" for second in (1, 2, 3))
WARC = "5b/a.org/a.org-20261117000000-00000.warc.gz"


@pytest.fixture
def node(tmp_path: Path) -> Path:
    return new_node(tmp_path)


@pytest.fixture
def run(node: Path, capfd: pytest.CaptureFixture[str]) -> Iterator[Receive]:
    with receiving(node, capfd) as run:
        yield run


@pytest.fixture
def secrets(node: Path) -> Path:
    (node / "secrets").mkdir(mode=0o700)
    for name, secret in (("oak", OAKS), ("elm", ELMS)):
        (node / "secrets" / name).write_text(f"{secret}\n")
        (node / "secrets" / name).chmod(0o600)
    return node / "secrets"


def of_oak(counter: int = 1, time: str | None = None, files: dict[str, bytes] = DOG) -> Batch:
    return batch(counter, files, sender="oak", time=time)


def of_elm(counter: int = 1, time: str | None = None, files: dict[str, bytes] = CAT) -> Batch:
    return batch(counter, files, OTHER_HARVEST, owner="/c/en/cat", sender="elm", time=time)


def of(sender: str, body: bytes, time: str | None, counter: int = 1, harvest: str = "") -> Batch:
    """One with the same path and owner as all others that are made here."""
    harvest = harvest or sha256(sender.encode())[:8]
    return batch(counter, {X: body}, harvest, owner="/c/en/x", sender=sender, time=time)


def searches(node: Path) -> list[str]:
    return [json.loads(line)["batch_of_test"] for line in lines(node, "SEARCHES.jsonl")]


# --- what is good ------------------------------------------------------------------------------


def test_what_two_send_is_in_one_m_and_each_has_its_receipts(node: Path, run: Receive) -> None:
    sent = (batch(1, {"en/ant": b"ant"}, owner="/c/en/ant"), of_oak(3), of_elm(1))
    for each in sent:
        each.send(node)
    said = run()
    assert (said.code, said.err) == (FINE, "")
    assert_has(node, *sent)
    assert_all_taken(node)
    assert {each["batch"] for each in records(node)} == {each.place for each in sent}
    assert sorted(searches(node)) == sorted(each.name for each in sent)
    for each in sent:
        told = receipt(node, each.place)
        assert (told["state"], told["batch"]) == ("merged", each.name)
        assert told["manifest_sha256"] == sha256(each.manifest)
    assert sorted(each.name for each in (node / "received").iterdir()) == sorted(
        [f"{sent[0].name}.json", "elm", "oak"]
    )


def test_of_each_sender_the_oldest_comes_first(node: Path, run: Receive) -> None:
    for sent in (of_oak(10), of_oak(9, files=CAT), of_elm(2)):
        sent.send(node)
    names = [line.split()[0] for line in run().out.splitlines() if "is merged" in line]
    expected = [f"elm/{name_of(2, OTHER_HARVEST)}", f"oak/{name_of(9)}", f"oak/{name_of(10)}"]
    assert names == expected


def test_the_archives_of_two_are_apart_though_they_claim_the_same_harvest(
    node: Path, run: Receive
) -> None:
    for number, sender in enumerate(("", "oak", "elm")):
        sent = archive_batch(1, {WARC: b"%d" % number})
        sent.sender = sender
        sent.send(node)
    assert run().code == FINE
    for number, place in enumerate((HARVEST, f"oak/{HARVEST}", f"elm/{HARVEST}")):
        assert (node / "archive" / place / WARC).read_bytes() == b"%d" % number


def test_the_status_tells_of_each_sender(node: Path, run: Receive) -> None:
    of_oak().send(node)
    (of_oak(2).send(node) / "manifest.json").write_text("{}")
    run()
    (of_elm().send(node) / "00001.tar").unlink()
    (node / "raw/ash").mkdir()
    said = run("--status")
    assert (said.code, said.err) == (FINE, "")
    told = [" ".join(line.split()) for line in said.out.splitlines()]
    assert told == [
        "raw/ash is the folder of a sender: nothing waits in it",
        f"raw/{of_elm().place} waits for 00001.tar",
        "raw/oak is the folder of a sender: nothing waits in it",
        f"quarantine/{of_oak(2).place} its manifest lacks 'format', or has something else there",
        "received: 5 files, 0.0 MB in 1 batches",
        f"last receipt: {of_oak().place} at {receipt(node, of_oak().place)['time']}",
    ]


# --- whose it is -------------------------------------------------------------------------------


def test_each_signs_with_its_own_secret(node: Path, run: Receive, secrets: Path) -> None:
    of_oak().send(node, OAKS)
    of_elm().send(node, ELMS)
    said = run()
    assert said.code == FINE and OAKS not in said.out + said.err
    assert_has(node, of_oak(), of_elm())
    for sent, secret in ((of_oak(), OAKS), (of_elm(), ELMS)):
        text = (node / f"received/{sent.place}.json").read_bytes()
        assert (node / f"received/{sent.place}.json.hmac").read_bytes() == sign(text, secret)


def test_the_same_batch_is_known_again_by_its_signed_receipt(
    node: Path, run: Receive, secrets: Path
) -> None:
    for _ in range(2):
        of_oak().send(node, OAKS)
        assert run().code == FINE
        assert_has(node, of_oak())
        assert searches(node) == [of_oak().name]


WRONG = {"another's": ELMS, "none": "", "the node's": "the secret of all"}


@pytest.mark.parametrize("secret", WRONG.values(), ids=WRONG)
def test_what_is_signed_otherwise_goes_into_quarantine(
    node: Path, run: Receive, secrets: Path, secret: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(receive.SECRET, "the secret of all")
    of_oak().send(node, secret)
    of_elm().send(node, ELMS)
    assert run().code == QUARANTINED
    reason = "its manifest is not signed with the secret that its sender has here"
    assert reason_for(node, of_oak()) == reason
    assert_has(node, of_elm())


UNKNOWN: dict[str, Callable[[], Batch]] = {
    "a sender without a secret": lambda: batch(1, DOG, sender="ash"),
    "none": lambda: batch(1, DOG),
}


@pytest.mark.parametrize("made", UNKNOWN.values(), ids=UNKNOWN)
def test_where_there_are_secrets_nobody_comes_in_unsigned(
    node: Path, run: Receive, secrets: Path, made: Callable[[], Batch]
) -> None:
    sent = made()
    sent.send(node, ELMS)
    assert run().code == QUARANTINED
    assert "is not signed" in reason_for(node, sent)
    for file in secrets.iterdir():
        file.unlink()
    sent.send(node)
    assert run().code == QUARANTINED, "the folder alone says that all must sign"
    assert_nothing_merged_but(node, "secrets")


def assert_nothing_merged_but(node: Path, *names: str) -> None:
    for name in names:
        (node / name).rename(node.parent / name)
    assert_nothing_merged(node)


@pytest.mark.parametrize("made", UNKNOWN.values(), ids=UNKNOWN)
def test_who_has_no_secret_of_its_own_signs_with_that_of_the_node(
    node: Path, run: Receive, made: Callable[[], Batch], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(receive.SECRET, "the secret of all")
    sent = made()
    sent.send(node)
    assert run().code == QUARANTINED
    sent.send(node, "the secret of all")
    assert run().code == FINE
    assert_has(node, sent)


def instead(make: Callable[[Path], object]) -> Callable[[Path], None]:
    def spoil(file: Path) -> None:
        file.rename(file.with_name("x"))
        make(file)

    return spoil


SPOILT: dict[str, Callable[[Path], object]] = {
    "others can read it": lambda file: file.chmod(0o640),
    "it is empty": lambda file: file.write_text("\n"),
    "it is too long": lambda file: file.write_text("x" * 5000),
    "it is a link": instead(lambda file: file.symlink_to("x")),
    "it is a folder": instead(lambda file: file.mkdir(0o700)),
    "it is a pipe": instead(lambda file: os.mkfifo(file, 0o600)),
}


@pytest.mark.parametrize("spoil", SPOILT.values(), ids=SPOILT)
def test_a_secret_that_cannot_be_used_keeps_its_own_sender_waiting_only(
    node: Path, run: Receive, secrets: Path, spoil: Callable[[Path], object]
) -> None:
    spoil(secrets / "oak")
    of_oak().send(node, OAKS)
    of_elm().send(node, ELMS)
    said = run()
    assert said.code == CANNOT
    assert said.err.startswith(f"receive: {of_oak().place} is left for now: secrets/oak ")
    assert len(said.err.splitlines()) == 1 and OAKS not in said.err
    assert_has(node, of_elm())
    assert (node / "raw" / of_oak().place / "manifest.json").exists()
    assert run("--status").code == CANNOT


# --- hostile senders ---------------------------------------------------------------------------


def test_one_that_takes_anothers_harvest_and_name_harms_itself_only(
    node: Path, run: Receive
) -> None:
    """Whichever comes first: neither receipts, nor what is set aside, nor the order is shared."""
    forged = batch(1, {"en/y": b"forged"}, owner="/c/en/y", sender="elm")
    assert forged.name == of_oak().name
    forged.send(node)
    run()
    of_oak().send(node)
    assert run().code == FINE
    assert_has(node, forged, of_oak())
    assert receipt(node, of_oak().place)["manifest_sha256"] == sha256(of_oak().manifest)
    batch(10**6, {X: b"forged"}, sender="elm").send(node)
    run()
    one_more = batch(2, {X: b"right"}, sender="oak")
    one_more.send(node)
    assert run().code == FINE
    assert merged(node)[X] == b"right", "a high counter is the other's own"


def test_a_replaced_file_is_kept_under_the_name_of_whose_it_was(node: Path, run: Receive) -> None:
    """Though the one who replaces it has brought a batch of that name before, to take its place."""
    batch(1, {X: b"planted"}, sender="elm").send(node)
    run()
    batch(2, {X: b"planted too"}, sender="elm").send(node)
    run()
    batch(1, {X: b"of oak"}, sender="oak").send(node)
    run()
    batch(3, {X: b"again"}, sender="elm").send(node)
    assert run().code == FINE
    assert (node / "aside/oak" / name_of(1) / X).read_bytes() == b"of oak"
    assert (node / "aside/elm" / name_of(1) / X).read_bytes() == b"planted"


def test_what_nobody_has_brought_is_set_aside_under_the_sender(node: Path, run: Receive) -> None:
    (node / "m" / X).parent.mkdir(parents=True)
    (node / "m" / X).write_bytes(b"by hand")
    sent = of("oak", b"new", EARLY)
    sent.send(node)
    assert run().code == FINE
    assert (node / f"aside/oak/before-{sent.name}" / X).read_bytes() == b"by hand"


@pytest.mark.parametrize("linked", ["batch", "sender", "volume", "manifest"])
def test_a_link_to_what_is_anothers_is_not_followed(
    node: Path, run: Receive, secrets: Path, linked: str
) -> None:
    """It is neither taken twice nor touched, whatever elm has planted."""
    victim = of_oak()
    there = victim.send(node, OAKS)
    (there / "manifest.json").rename(there / "manifest.json.part")  # not complete yet
    (node / "raw/elm").mkdir()
    mine = of_elm()
    if linked == "batch":
        (node / "raw/elm" / victim.name).symlink_to(f"../oak/{victim.name}")
    elif linked == "sender":
        (node / "raw/elm").rmdir()
        (node / "raw/elm").symlink_to("oak")
    else:
        name = "00001.tar" if linked == "volume" else "manifest.json"
        (mine.send(node, ELMS) / name).unlink()
        (node / "raw" / mine.place / name).symlink_to(f"../../oak/{victim.name}/{name}")
    before = tree(there)
    assert run().code in (FINE, QUARANTINED)
    assert tree(there) == before
    assert not (node / "m").exists()
    (there / "manifest.json.part").rename(there / "manifest.json")
    assert run().code == FINE
    assert_has(node, victim)


NO_NAMES = [
    *("Oak", "o k", "-oak", ".oak", "o" * 33, "öak", "oak\n", "o.k"),
    *("before-3f2a9c10-1", "deadbeef"),
]


@pytest.mark.parametrize("name", NO_NAMES, ids=ascii)
def test_a_name_that_is_none_is_left_alone(node: Path, run: Receive, name: str) -> None:
    sent = batch(1, DOG, sender=name)
    sent.send(node)
    before = tree(node.parent, ["node/.receive.lock"])
    assert run() == (FINE, "", "")
    assert tree(node.parent, ["node/.receive.lock"]) == before
    assert "is not a batch: left alone" in run("--status").out


def test_a_folder_in_the_folder_of_a_sender_is_none_of_another(node: Path, run: Receive) -> None:
    of_oak().send(node).rename(node / "raw/inner")
    (node / "raw/oak/elm").mkdir()
    (node / "raw/inner").rename(node / "raw/oak/elm" / of_oak().name)
    assert run() == (FINE, "", "")
    assert "raw/oak/elm" in run("--status").out


@pytest.mark.parametrize("mode", [0o000, 0o400])
def test_a_folder_that_its_sender_has_closed_keeps_nobody_else_waiting(
    node: Path, mode: int
) -> None:
    of_elm().send(node)
    of_oak().send(node)
    close(node / "raw/elm", mode | mode >> 3 | mode >> 6)
    for words in ([], ["--status"]):
        said = receive_as_user(node, *words)
        assert said.code == CANNOT and "elm" in said.err and "Permission denied" in said.err
    assert_has(node, of_oak())
    subprocess.run(["chmod", "-R", "u+rwX", str(node / "raw/elm")], check=True)


# --- the same owner by two of them -------------------------------------------------------------

SAME = "11111111"
ANEW = {
    "by another": [of("oak", b"1", EARLY, 5), of("elm", b"2", LATE, 1), of("ash", b"3", LATEST, 2)],
    "by the same, counting anew": [of("oak", b"1", EARLY, 5, SAME), of("oak", b"3", LATE, 1, SAME)],
}


@pytest.mark.parametrize("sent", ANEW.values(), ids=ANEW)
def test_what_was_fetched_last_stays_in_whichever_order_it_comes(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], sent: list[Batch]
) -> None:
    for number, order in enumerate(permutations(sent)):
        (tmp_path / str(number)).mkdir()
        node = new_node(tmp_path / str(number))
        with receiving(node, capfd) as run:
            for each in order:
                each.send(node)
                assert run().code == FINE
        assert merged(node) == {X: b"3"}
        assert [each["batch"] for each in records(node)] == [sent[-1].place]
        assert searches(node) == [sent[-1].name]
        aside = {str(path.relative_to(node / "aside")) for path in (node / "aside").rglob("*.jpg")}
        assert aside <= {f"{each.place}/{X}" for each in sent[:-1]} and aside
        assert_all_taken(node)
        for each in sent:
            assert receipt(node, each.place)["state"] == "merged"


@pytest.mark.parametrize("times", [(EARLY, LATE), (LATE, EARLY)], ids=["in order", "late"])
def test_the_same_file_by_two_stands_in_the_books_once(
    node: Path, run: Receive, times: tuple[str, str]
) -> None:
    for sender, time in zip(("oak", "elm"), times, strict=True):
        of(sender, b"same", time).send(node)
        assert run().code == FINE
    newer = "elm" if times[1] == LATE else "oak"
    assert len(lines(node, "MEDIA.jsonl")) == len(lines(node, "ATTRIBUTION.csv")) - 1 == 1
    assert searches(node) == [of(newer, b"", "").name]
    assert not (node / "aside").exists()


NO_TIMES = [
    *((None, None), (EARLY, None), (LATE, "soon"), (EARLY, EARLY)),
    ("9999-01-01T00:00:00Z", EARLY),
]


@pytest.mark.parametrize("times", NO_TIMES)
def test_without_two_times_the_newcomer_stays(
    node: Path, run: Receive, times: tuple[str | None, str | None]
) -> None:
    for sender, body, time in zip(("oak", "elm"), (b"1", b"2"), times, strict=True):
        of(sender, body, time, counter=9 if sender == "oak" else 1).send(node)
        assert run().code == FINE
    assert merged(node) == {X: b"2"}


def test_without_senders_times_do_not_count(node: Path, run: Receive) -> None:
    batch(1, {X: b"1"}, time=LATE).send(node)
    run()
    batch(2, {X: b"2"}, time=EARLY).send(node)
    run()
    batch(1, {X: b"3"}, OTHER_HARVEST, time=EARLY).send(node)
    assert run().code == FINE
    assert merged(node) == {X: b"3"}
