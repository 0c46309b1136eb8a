"""`main.py init` asks on a terminal, and writes settings that a harvest takes."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.command import ROOT, Here, clean_environment, run, says
from tools.settings import Settings, load

CONTACT = "you@example.org"


def on_terminal(folder: Path, answers: list[str], *words: str) -> tuple[int, str]:
    """The exit code and all that was seen; each answer is typed once there is a question."""
    leader, follower = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, str(ROOT / "main.py"), "init", *words],
        cwd=folder, stdin=follower, stdout=follower, stderr=follower, env=clean_environment(),
    )  # fmt: skip
    os.close(follower)
    seen, waiting = "", list(answers)
    try:
        while chunk := os.read(leader, 4096):
            seen += chunk.decode()
            if seen.endswith("]: ") and waiting:
                os.write(leader, f"{waiting.pop(0)}\n".encode())
    except OSError:  # Linux: nobody has the other end open any more
        pass
    finally:
        os.close(leader)
    assert not waiting, seen
    return process.wait(timeout=60), seen


def test_enter_accepts_what_is_offered(tmp_path: Path) -> None:
    code, seen = on_terminal(tmp_path, [CONTACT, "", "", ""])
    assert code == 0, seen
    made, usual = load(tmp_path / "sheaf.toml", {}), Settings()
    assert made.http.contact == CONTACT
    assert (made.source, made.seeds, made.graph_url) == (usual.source, usual.seeds, usual.graph_url)
    assert "python main.py check" in seen and [*tmp_path.iterdir()] == [tmp_path / "sheaf.toml"]


def test_a_wrong_answer_is_asked_for_again_and_flags_are_not_asked_for(tmp_path: Path) -> None:
    answers = ["nobody", CONTACT, "/r/IsA", "dog, ice cream", "mysql://x", 'sqlite:a "b".db']
    code, seen = on_terminal(tmp_path, answers, "--source", "http://127.0.0.1:8084")
    assert code == 0, seen
    assert "'nobody' is no address" in seen and "is not a concept" in seen
    made = load(tmp_path / "sheaf.toml", {})
    assert made.seeds == ("dog", "ice cream") and made.graph == 'sqlite:a "b".db'
    assert made.source == "http://127.0.0.1:8084"


def test_without_a_terminal_flags_say_it_and_nothing_is_asked(tmp_path: Path) -> None:
    done = run(
        "main.py", "init", "--contact", CONTACT, "--seed", "dog", "--seed", "cat", cwd=tmp_path
    )
    assert (done.returncode, done.stderr) == (0, "")
    made = load(tmp_path / "sheaf.toml", {})
    assert (made.http.contact, made.seeds) == (CONTACT, ("dog", "cat"))
    plan = run("main.py", "--dry-run", cwd=tmp_path)
    assert "/c/en/dog, /c/en/cat" in plan.stdout


def test_a_file_that_is_there_stays_unless_forced(tmp_path: Path) -> None:
    file = tmp_path / "sheaf.toml"
    file.write_text("limit = 3\n")
    words = ("init", "--contact", CONTACT)
    assert "is there already" in says(run("main.py", *words, cwd=tmp_path), 2)
    assert file.read_text() == "limit = 3\n"
    assert run("main.py", *words, "--force", cwd=tmp_path).returncode == 0
    assert load(file, {}).http.contact == CONTACT
    other = tmp_path / "other.toml"
    assert run("main.py", *words, "--config", other, cwd=tmp_path).returncode == 0
    assert load(other, {}).http.contact == CONTACT


@pytest.mark.parametrize(
    ("typed", "sentence"),
    [
        ("", "init needs a terminal to ask, or --contact"),
        ("--contact nobody", "'nobody' is no address"),
        (f"--contact {CONTACT} --seed /r/IsA", "is not a concept"),
        (f"--contact {CONTACT} --source none.csv", "none.csv cannot be read (No such file"),
        (f"--contact {CONTACT} --graph mysql", "the graph 'mysql' is not known"),
        (f"--contact {CONTACT} --config none/sheaf.toml", "none/sheaf.toml cannot be written"),
    ],
)
def test_what_is_wrong_writes_nothing(
    here: Here, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, typed: str, sentence: str
) -> None:
    monkeypatch.setattr("sys.stdin.isatty", lambda: False, raising=False)
    assert sentence in here("init", *typed.split())
    assert [*tmp_path.iterdir()] == []


def test_an_ended_terminal_writes_nothing(tmp_path: Path) -> None:
    code, seen = on_terminal(tmp_path, ["\x04"])
    assert code == 2 and "nothing was written" in seen
    assert [*tmp_path.iterdir()] == []
