"""The file with which a node joins: closed to others, whole or refused in a sentence."""

from __future__ import annotations

import json
import stat
import tempfile
from pathlib import Path
from typing import Any

import pytest

from tools.cluster.certificates import Authority
from tools.cluster.join_file import Join, read_join, tls_of, write_join
from tools.errors import UsageError


@pytest.fixture(scope="module")
def join() -> Join:
    authority = Authority.new()
    made = authority.for_client("alpha")
    port = 4222
    address = "example.org"
    return Join("alpha", address, port, authority.certificate, made.certificate, made.key)


def test_what_is_written_is_read(tmp_path: Path, join: Join) -> None:
    file = tmp_path / "alpha.sheaf"
    write_join(file, join)
    assert read_join(file) == join
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert join.url == "tls://example.org:4222"
    assert join._replace(address="::1").url == "tls://[::1]:4222"


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o644, 0o620])
def test_a_file_that_others_can_use_is_refused(tmp_path: Path, join: Join, mode: int) -> None:
    file = tmp_path / "alpha.sheaf"
    write_join(file, join)
    file.chmod(mode)
    with pytest.raises(UsageError, match=f"chmod 600 {file}"):
        read_join(file)


@pytest.mark.parametrize(
    "change",
    [
        *({"name": name} for name in ("", "../x", "A", 1, None)),
        *({"address": address} for address in ("", "a b", "http://x", 1, "x" * 300)),
        *({"port": port} for port in (0, 65_536, "4222", 1.5, True, None)),
        *({field: text} for field in ("ca", "certificate", "key") for text in ("", 1, None)),
        *({"format": number} for number in ("1", None)),
    ],
)
def test_a_damaged_file_is_refused_and_its_key_not_told(
    tmp_path: Path, join: Join, change: dict[str, Any]
) -> None:
    file = tmp_path / "alpha.sheaf"
    write_join(file, join)
    file.write_text(json.dumps(json.loads(file.read_text()) | change))
    with pytest.raises(UsageError, match=r"damaged.*cluster add") as caught:
        read_join(file)
    assert "BEGIN" not in str(caught.value)


@pytest.mark.parametrize("share", [0.0, 0.3, 0.9])
def test_a_file_that_was_cut_short_is_refused(tmp_path: Path, join: Join, share: float) -> None:
    file = tmp_path / "alpha.sheaf"
    write_join(file, join)
    file.write_text(file.read_text()[: int(share * file.stat().st_size)])
    with pytest.raises(UsageError, match="damaged"):
        read_join(file)


@pytest.mark.parametrize("text", ["[]", "[" * 90_000, "x" * 200_000, '"a"', "1" * 5000])
def test_something_else_is_no_join_file(tmp_path: Path, text: str) -> None:
    file = tmp_path / "alpha.sheaf"
    file.write_text(text)
    file.chmod(0o600)
    with pytest.raises(UsageError, match="is not a join file"):
        read_join(file)


def test_a_file_of_another_format_says_so(tmp_path: Path, join: Join) -> None:
    file = tmp_path / "alpha.sheaf"
    write_join(file, join)
    file.write_text(file.read_text().replace('"format": 1', '"format": 2'))
    with pytest.raises(UsageError, match="same version on all machines"):
        read_join(file)


def test_no_file_is_told(tmp_path: Path, join: Join) -> None:
    with pytest.raises(UsageError, match="No such file"):
        read_join(tmp_path / "none.sheaf")
    with pytest.raises(UsageError, match="cannot be written"):
        write_join(tmp_path / "none/x.sheaf", join)


def test_the_key_stays_in_no_file(
    tmp_path: Path, join: Join, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    tls_of(join)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("field", ["ca", "certificate", "key"])
def test_damaged_keys_are_told_without_showing_them(join: Join, field: str) -> None:
    text: str = getattr(join, field)
    spoilt = Join(**join._asdict() | {field: text[:60] + "!!" + text[90:]})
    with pytest.raises(UsageError, match="keys in the join file of alpha are damaged"):
        tls_of(spoilt)


def test_a_key_that_belongs_to_another_certificate_is_told(join: Join) -> None:
    other = Authority.new().for_client("alpha")
    with pytest.raises(UsageError, match="damaged"):
        tls_of(join._replace(key=other.key))
