"""A file without a single assertion is an error, and a bad line is told once."""

from __future__ import annotations

import gzip
import re
from pathlib import Path

import pytest
import zstandard

from main import main
from tests.support.command import Here
from tests.support.dump_world import set_small, words
from tests.support.worlds.conceptnet import line

TEXT = b"".join(b"This is verse %d of a poem.\n" % number for number in range(30))
FILES = {
    "no bytes": (b"", "it is empty"),
    "an empty .gz": (gzip.compress(b""), "it is empty"),
    "an empty .zst": (zstandard.compress(b""), "it is empty"),
    "a line of text": (b"hello", "of 1 line none can be read"),
    "an empty line": (b"\n", "of 1 line none can be read"),
    "a poem": (TEXT, "of 30 lines none can be read"),
    "a packed poem": (gzip.compress(TEXT), "of 30 lines none can be read"),
}
any_file = pytest.mark.parametrize(("content", "found"), FILES.values(), ids=FILES)


def ways(folder: Path, file: Path) -> dict[str, list[str]]:
    walk = ["--source", str(file), "--seed", "/c/en/dog", "--no-media", "-q"]
    return {
        "all": words(folder / "all", file),
        "walk": [*walk, "--state", str(folder / "walk")],
        "survey": ["survey", str(file), "-q"],
        "mirror": ["mirror", "--source", str(file), "--port", "0", "-q"],
    }


@any_file
@pytest.mark.parametrize("way", ["all", "walk", "survey", "mirror"])
def test_a_file_without_an_assertion_is_an_error(
    here: Here,
    tmp_path: Path,
    capfd: pytest.CaptureFixture[str],
    way: str,
    content: bytes,
    found: str,
) -> None:
    file = tmp_path / "file.csv"
    file.write_bytes(content)
    for _ in range(2):
        assert main(ways(tmp_path, file)[way]) == 2
        assert capfd.readouterr().err.splitlines()[-1] == (
            f"sheaf: {file} is no assertions file ({found}): "
            f"`python main.py download` fetches ConceptNet's"
        )


@any_file
def test_such_a_file_neither_sets_a_harvest_aside_nor_takes_its_place(
    here: Here, tmp_path: Path, content: bytes, found: str
) -> None:
    good, bad = tmp_path / "good.csv", tmp_path / "file.csv"
    good.write_text(line("/r/IsA", "/c/en/dog", "/c/en/pet"))
    bad.write_bytes(content)
    assert found in here(*words(tmp_path / "all", bad))
    assert main(words(tmp_path / "all", good)) == 0
    assert found in here(*words(tmp_path / "all", bad), "--fresh")
    assert main(words(tmp_path / "all", good)) == 0


@pytest.mark.parametrize("way", ["all", "walk", "survey"])
def test_every_bad_line_is_told_once(
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
    capfd: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    way: str,
) -> None:
    """Even if there are too many of them, behind something good."""
    set_small(monkeypatch.setattr)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "sheaf.toml").write_text("[dump]\nmax_malformed = 15\n")
    good = [line("/r/IsA", "/c/en/dog", f"/c/en/{n}") for n in range(60)]
    file = tmp_path / "file.csv"
    file.write_text("".join(f"{each.rstrip()}\n" for each in [*good, *["bad"] * 30]))
    assert main([each for each in ways(tmp_path, file)[way] if each != "-q"]) == 2
    said = caplog.text if way == "survey" else capfd.readouterr().err  # which sets up no log
    told = re.findall(r"line (\d+) of file.csv is skipped", said)
    assert told == [str(number) for number in range(61, 76)]


def test_a_filter_that_keeps_nothing_of_a_good_file_is_no_such_error(tmp_path: Path) -> None:
    file = tmp_path / "file.csv"
    file.write_text(line("/r/IsA", "/c/de/hund", "/c/de/tier"))
    assert main(ways(tmp_path, file)["survey"]) == 0
