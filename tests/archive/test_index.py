"""The index is the one that cdxj-indexer writes, and its keys are those of surt."""

from __future__ import annotations

import io
from contextlib import ExitStack
from datetime import timedelta
from pathlib import Path
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.archive.oracles import CDXJIndexer, their_surt
from tests.archive.scene import TIME, answer, archive_in
from tools.archive.cdxj import INDEXED, Capture, line, sorted_lines, write_index
from tools.archive.reader import records
from tools.archive.record import Earlier, Place, pack, payload_digest
from tools.archive.recovery import our_files
from tools.archive.surt import surt

SESSION = "0123456789abcdef0123456789ABCDEF"
HOSTS = [
    *("example.org", "WWW.Example.ORG", "www1.a.b", "www.com", "www", "wwww.example.org"),
    *("127.0.0.1", "[2001:db8::1]", "[::1]", "1.2.3", "a-b.c_d.org", "xn--bcher-kva.example"),
    *("localhost", "example.org.", "a..b", "u:p@h.org", "u@www.x.org"),
]
PORTS = ["", ":", ":80", ":443", ":8080", ":0", ":007", ":99999"]
PIECES = [
    *"abAZ/.?&=%#;:,-_~!'()*+$@[]|^{}\\\"`<>",
    *("%41", "%2F", "%25", "%2541", "%C3%A9", "%e9", "%20", "%zz", "%00", "//", "/../", "/./"),
    *(f"sid={SESSION}", f"jsessionid={SESSION}", f"PHPSESSID={SESSION}", "cfid=1&cftoken=2"),
    "aspsessionidABCDEFGH=abcdefghijklmnopqrstuvwx",
    *("(0123456789abcdef01234567)", "(S(0123456789abcdef01234567))", ".aspx", "www."),
]
ADDRESSES = st.builds(
    "{}://{}{}{}".format,
    st.sampled_from(["http", "https", "HTTP"]),
    st.sampled_from(HOSTS),
    st.sampled_from(PORTS),
    st.lists(st.sampled_from(PIECES), max_size=8).map(
        lambda pieces: "/" + "".join(pieces) if pieces else ""
    ),
)


def expected_key(address: str) -> str:
    """As cdxj-indexer asks for it."""
    try:
        return str(their_surt(address))
    except ValueError:
        return address


@given(ADDRESSES)
def test_keys_are_those_of_surt(address: str) -> None:
    assert surt(address) == expected_key(address)


@pytest.mark.parametrize(
    "address",
    [
        "http://example.org/?b=2&a=1&a=0&a-b=1&a!=2",
        "http://example.org?x",
        "http://example.org/a?",
        "http://example.org/a/../../b",
        "http://example.org/%3Fb&a?z&y",
        "dns:example.org",
        "http://1.2.3.4.5/",
        "http://256.1.1.1/",
        "http://2130706433/",
        f"http://example.org/x/(a({SESSION[:24]})S({SESSION[:24]}))/y.aspx?z",
    ],
)
def test_keys_of_some_addresses(address: str) -> None:
    assert surt(address) == expected_key(address)


@pytest.mark.timeout(20)
@pytest.mark.parametrize("piece", ["cfid=", "%25", "(0/", "../", "sid=", "&"])
def test_a_key_of_a_hostile_address_takes_no_time(piece: str) -> None:
    for length in (2**14 - 20, 2**20):
        surt(f"http://e.org/?{piece * (length // len(piece))}")
        surt(f"http://e.org/{piece * (length // len(piece))}")


def filled(folder: Path) -> list[Capture]:
    """An archive of hostile answers, and what a table would hold of them."""
    archive = archive_in(folder, max_file_bytes=30_000)
    chance = Random(7)
    captures = []
    types = ["text/html", "text/html;x", "Text/X y", "caf\xe9", "caf\xc3\xa9", "", " ; a", "\t"]
    for number in range(200):
        pieces = "".join(chance.choices(PIECES, k=chance.randrange(9)))
        address = f"http://{chance.choice(HOSTS)}{chance.choice(PORTS)}/{pieces}"
        headers = [("Content-Type", chance.choice(types))] if number % 9 else []
        status = chance.choice([200, 200, 301, 404, 304, 503])
        time = TIME + timedelta(seconds=chance.randrange(10**6))
        sent = answer(address, chance.randbytes(500), headers, status, time)
        earlier = Earlier(address, TIME, payload_digest(b"x")) if number % 7 == 0 else None
        packed = pack(sent, earlier=earlier, notes={"n": "1"} if number % 5 == 0 else {})
        place = archive.append(f"host{number % 3}.example", packed)[0]
        captures.append(Capture(address, time, status, packed.mime, packed.digest, place))
    archive.close()
    return captures


def indexed_by_others(folder: Path) -> str:
    out = io.StringIO()
    out.close = lambda: None  # type: ignore[method-assign]
    files = [str(folder / name) for name in our_files(folder)]
    CDXJIndexer(out, files, sort=True, dir_root=str(folder)).process_all()
    return out.getvalue()


def test_the_index_is_that_of_cdxj_indexer(tmp_path: Path) -> None:
    captures = filled(tmp_path)
    write_index(tmp_path / "index.cdxj", captures)
    ours = (tmp_path / "index.cdxj").read_text("utf-8")
    assert ours.splitlines() == indexed_by_others(tmp_path).splitlines()
    assert len(ours.splitlines()) == len(captures)


def test_the_index_can_be_made_of_the_files_alone(tmp_path: Path) -> None:
    filled(tmp_path)
    found = [
        Capture.of(kept, name)
        for name in our_files(tmp_path)
        for kept in records(tmp_path / name)
        if kept.kind in INDEXED
    ]
    write_index(tmp_path / "index.cdxj", found)
    assert (tmp_path / "index.cdxj").read_text("utf-8") == indexed_by_others(tmp_path)


def test_more_than_fits_into_memory_is_sorted_too(tmp_path: Path) -> None:
    captures = [
        Capture(f"http://e.org/{n * 7919 % 100}", TIME, 200, "a/b", None, Place("f", n % 50, 1))
        for n in range(200)
    ]
    with ExitStack() as stack:
        lines = [*sorted_lines(captures, stack, tmp_path, most=30)]
    assert lines == sorted({line(each).encode() for each in captures})
    assert not [*tmp_path.iterdir()]


def test_a_line() -> None:
    capture = Capture("http://www.e.org/A", TIME, 200, "text/html", "sha1:X", Place("f", 3, 4))
    assert line(capture) == (
        'org,e)/a 20260504030201 {"url": "http://www.e.org/A", "mime": "text/html", '
        '"status": "200", "digest": "sha1:X", "length": "4", "offset": "3", "filename": "f"}\n'
    )
