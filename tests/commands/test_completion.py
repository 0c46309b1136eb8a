"""What the shells offer, asked of the shells themselves."""

from __future__ import annotations

import os
import pty
import re
import select
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.support.command import ROOT, Here, clean_environment
from tests.support.needs import program
from tools.commands.completion import bash_script
from tools.commands.verbs import VERBS

ASK = """{script}
COMP_WORDS=({words})
COMP_CWORD=$(( ${{#COMP_WORDS[@]}} - 1 ))
_sheaf
printf '%s\\n' "${{COMPREPLY[@]}}"
"""


def offered(*words: str) -> set[str]:
    """By bash, where the last word is being typed."""
    quoted = " ".join(f'"{word}"' for word in words)
    done = subprocess.run(
        ["bash", "-euc", ASK.format(script=bash_script(), words=quoted)],
        capture_output=True, text=True, timeout=60,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    return set(done.stdout.split())


def test_commands_are_completed() -> None:
    assert offered("python", "main.py", "") == {verb for verb in VERBS if " " not in verb}
    assert offered("python3", "./main.py", "ex") == {"export"}
    assert offered("sheaf", "re") == {"resume", "retry"}


def test_flags_are_those_of_the_command() -> None:
    assert offered("python", "main.py", "--fe") == {"--fetch-workers"}
    assert offered("python", "main.py", "--sample", "--fr") == {"--fresh"}
    assert offered("python", "main.py", "mirror", "--") >= {"--port", "--rate-limit"}
    assert "--port" not in offered("python", "main.py", "export", "--")
    assert offered("python", "history.py", "--w") == {"--watch"}
    assert offered("python", "clear.py", "--y") == {"--yes"}


def test_values_are_completed_where_there_are_few() -> None:
    assert offered("python", "main.py", "export", "--format", "p") == {"parquet", "pykeen"}
    assert offered("python", "main.py", "credits", "--format", "") == {"text", "csv"}
    assert offered("python", "main.py", "completion", "") == {"bash", "zsh"}


def test_a_command_may_have_two_words() -> None:
    seconds = {verb.removeprefix("pages ") for verb in VERBS if verb.startswith("pages ")}
    assert offered("python", "main.py", "pages", "") == seconds
    assert offered("python", "main.py", "pages", "sh") == {"sheet", "show"}
    assert offered("python", "main.py", "pages", "--sam") == {"--sample"}
    assert offered("python", "main.py", "pages", "show", "--bo") == {"--body"}
    assert offered("sheaf", "pages", "compare", "--late") == {"--latency"}
    assert offered("sheaf", "pages", "export", "--format", "w") == {"warc", "wacz"}
    assert offered("sheaf", "pages", "--depth", "3", "--sam") == {"--sample"}


def test_other_programs_of_python_are_left_alone() -> None:
    assert offered("python", "other.py", "--fe") == set()
    assert offered("python", "ma") == set()


def test_another_shell_is_refused(here: Here) -> None:
    assert "bash or zsh" in here("completion") and "bash or zsh" in here("completion", "fish")


def typed(shell: list[str], folder: Path, lines: list[str], expected: str) -> str:
    """What a terminal shows when this was typed, up to what is expected."""
    child, leader = pty.fork()
    if child == 0:
        os.chdir(folder)
        os.execvpe(shell[0], shell, clean_environment(TERM="dumb", HOME=str(folder)))
    seen, waiting, end = "", list(lines), time.monotonic() + 30
    try:
        while expected not in seen and time.monotonic() < end:
            if select.select([leader], [], [], 0.5)[0]:
                seen += os.read(leader, 4096).decode(errors="replace")
            elif waiting:
                os.write(leader, waiting.pop(0).encode())
    except OSError:
        pass
    finally:
        os.kill(child, 9)
        os.waitpid(child, 0)
        os.close(leader)
    return re.sub(".\x08", "", seen)  # what was typed over


@pytest.mark.parametrize(
    "shell", [["bash", "--norc", "--noprofile", "-i"], ["zsh", "-f", "-i"]], ids=["bash", "zsh"]
)
def test_a_real_shell_completes(shell: list[str], tmp_path: Path) -> None:
    program(shell[0], shell[0])
    load = f'eval "$({sys.executable} {ROOT}/main.py completion {shell[0]})"\n'
    lines = ["autoload -U compinit && compinit -u\n"] if shell[0] == "zsh" else []
    lines += [load, "python main.py exp\t--fo\tparq\t"]
    shown = typed(shell, tmp_path, lines, "parquet")
    assert "python main.py export --format parquet" in shown, shown
