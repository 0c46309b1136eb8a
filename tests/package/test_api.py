"""What `import sheaf` promises, and the examples that show it."""

from __future__ import annotations

import inspect
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import tools as sheaf
from tests.support.command import ROOT, clean_environment
from tests.support.worlds.conceptnet import World
from tools.commands.child import error_of
from tools.errors import NothingHarvested, Unreachable, UsageError

GUIDE = (ROOT / "docs/python.md").read_text("utf-8")
EXAMPLES = re.findall(r"^```python\n(.*?)^```$", GUIDE, re.DOTALL | re.MULTILINE)


def python(code: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", code],
        cwd=cwd,
        capture_output=True,
        text=True,
        timeout=120,
        env=clean_environment(PYTHONPATH=str(ROOT)),
    )


@pytest.fixture(scope="module")
def harvested(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder in which the first example of the guide was run."""
    folder = tmp_path_factory.mktemp("guide")
    done = python(EXAMPLES[0], folder)
    assert (done.returncode, done.stderr) == (0, "")
    (folder / "said").write_text(done.stdout)
    return folder


def test_the_first_example_shows_a_graph_and_credits(harvested: Path) -> None:
    said = (harvested / "said").read_text()
    assert re.match(r"\d+ concepts, \d+ relations, [1-9]\d* files\n", said), said
    assert re.search(r"^/c/en/dog CapableOf /c/en/dig_holes \d", said, re.MULTILINE), said
    (file,) = re.findall(r"^(m-python/en/dog/image/\S+) cc-\S+ .* http", said, re.MULTILINE)
    assert (harvested / file).is_file()


def test_the_second_example_tells_what_went_wrong(tmp_path: Path) -> None:
    done = python(EXAMPLES[1], tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("try again later: ") and "127.0.0.1:9" in done.stdout


def test_what_is_promised_is_documented() -> None:
    listed = re.findall(r"^\| `(\w+)(?:\(.*\))?` \| ", GUIDE, re.MULTILINE)
    assert sorted(listed) == sorted(sheaf.__all__)
    for name in set(sheaf.__all__) - {"VERSION"}:
        text = inspect.getdoc(getattr(sheaf, name)) or ""
        assert f"sheaf.{name}(" in text, f"{name} shows no example"
        assert name in "".join(EXAMPLES)
    accepted = set(inspect.signature(sheaf.harvest).parameters) - {"seeds"}
    sentence = re.search(r"`harvest` takes (.*?);", GUIDE, re.DOTALL)
    assert sentence and set(re.findall(r"`(\w+)`", sentence[1])) == accepted


def test_importing_it_loads_nothing(tmp_path: Path) -> None:
    code = (
        "import sheaf, sys; print([each for each in sys.modules if each.startswith('tools.')"
        " or each in ('requests', 'orjson', 'numpy', 'argparse', 'subprocess')])"
    )
    assert python(code, tmp_path).stdout == "['tools.base', 'tools.base.version']\n"


def test_concepts_may_be_written_as_words_and_relations_have_media(harvested: Path) -> None:
    with sheaf.open_graph(f"sqlite:{harvested}/state-python/graph.db") as graph:
        found = sheaf.neighbours(graph, "Dog")
        assert found and found == sheaf.neighbours(graph, "/c/en/dog")
        assert sheaf.neighbours(graph, "hund", language="de") == []
        of_relation = [sheaf.media_of(graph, each.uri) for each in found]
        assert any(of_relation)
        assert sheaf.media_of(graph, "no such concept") == []
        with pytest.raises(UsageError, match="is not a concept"):
            sheaf.neighbours(graph, "a/b")


def test_a_graph_that_is_not_there_is_not_made(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="there is no graph at"):
        sheaf.open_graph(f"sqlite:{tmp_path}/typo.db").__enter__()
    assert not [*tmp_path.iterdir()]


def test_a_missing_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "neo4j", None)
    monkeypatch.delitem(sys.modules, "tools.graphs.neo4j", raising=False)
    with pytest.raises(UsageError, match="this needs the package neo4j: pip install"):
        sheaf.open_graph("neo4j://neo4j@127.0.0.1:9").__enter__()


def test_settings_of_a_harvest_reach_it(tmp_path: Path, world: World) -> None:
    config = tmp_path / "mine.toml"
    config.write_text(f'state = "{tmp_path}/kept"\n[filter]\nrelations = ["IsA"]\n')
    counts = sheaf.harvest("dog", source=world.url, config=config, depth=1, with_media=False)
    assert counts.entities > 1 and counts.media == 0
    with sheaf.open_graph(f"sqlite:{tmp_path}/kept/graph.db") as graph:
        assert set(graph.relations_by_type()) == {"IsA"}
        assert graph.counts() == counts


@pytest.mark.parametrize(
    ("seed", "error"), [("a/b", UsageError), ("no such concept at all", NothingHarvested)]
)
def test_what_ends_the_command_is_raised(
    seed: str, error: type[Exception], tmp_path: Path, world: World
) -> None:
    with pytest.raises(error) as raised:
        sheaf.harvest(seed, source=world.url, state=tmp_path / "state", with_media=False)
    assert not str(raised.value).startswith("sheaf: ") and "\n" not in str(raised.value)


def test_an_end_without_a_sentence_has_one() -> None:
    assert str(error_of(-9, "")) == "the harvest was killed (signal 9); the same call goes on"
    assert isinstance(error_of(3, "it is down"), Unreachable)
    assert str(error_of(1, "")) == "the harvest ended with the exit code 1"


COUNTS_SIGNALS = """
import signal, sys, time
seen = []
for each in (signal.SIGINT, signal.SIGTERM):
    signal.signal(each, lambda number, _: seen.append(number))
open("ready", "w").close()
while not seen:
    time.sleep(0.01)
time.sleep(1)
open("seen", "w").write(str(len(seen)))
"""


def interrupted(code: str, sign: str, cwd: Path) -> str:
    """What a program says that gets Ctrl-C, as a terminal gives it, once there is such a file."""
    process = subprocess.Popen(
        [sys.executable, "-c", code],
        cwd=cwd,
        process_group=0,
        stderr=subprocess.PIPE,
        text=True,
        env=clean_environment(PYTHONPATH=str(ROOT)),
    )
    deadline = time.monotonic() + 60
    while not [*cwd.glob(sign)] and time.monotonic() < deadline:
        time.sleep(0.1)
    os.killpg(process.pid, signal.SIGINT)
    _, said = process.communicate(timeout=60)
    assert process.returncode == -signal.SIGINT, said
    return said


def test_whoever_interrupts_it_stops_the_harvest(tmp_path: Path) -> None:
    """And what was harvested is kept: the same call goes on."""
    code = "import sheaf; print(sheaf.harvest(sample=True, state='s', media='m'))"
    assert interrupted(code, "m/en/*/*/*", tmp_path).endswith("KeyboardInterrupt\n")
    log = (tmp_path / "s/log").read_text("utf-8")
    assert "ended after" in log and "stopped" in log.splitlines()[-1], log


def test_it_is_asked_once_and_waited_for(tmp_path: Path) -> None:
    """A second signal would end it before its running tasks have finished."""
    (tmp_path / "counts.py").write_text(COUNTS_SIGNALS)
    code = (
        "import sys; from tools.commands import child\n"
        "child.module_command = lambda _: [sys.executable, 'counts.py']\n"
        "child.run_to_end([])"
    )
    assert interrupted(code, "ready", tmp_path).endswith("KeyboardInterrupt\n")
    assert (tmp_path / "seen").read_text() == "1"
