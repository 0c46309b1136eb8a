"""What a parser's process can reach: with bubblewrap no network, no home, a system to read only.

Promise: it is tried before it is relied on; where it is missing or does not work, as in many a
container, the log says once what that means.
Limit: without it parsers are guarded against mistakes, not against malice.
"""

from __future__ import annotations

import logging
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from ..base.program import PACKAGE, module_environment
from ..base.text import one_line

TRIAL_S = 20.0
OURS = Path(__file__).resolve().parents[1]
SYSTEM = ("/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32")
READ = (
    "/usr",
    "/etc/alternatives",
    "/etc/fonts",
    "/etc/ld.so.cache",
    "/etc/ld.so.conf",
    "/etc/ld.so.conf.d",
    "/etc/localtime",
)
LIBRARIES = ("site-packages", "dist-packages")
ALONE = ("--unshare-all", "--die-with-parent", "--cap-drop", "ALL", "--dev", "/dev")

log = logging.getLogger(__name__)


class Sandbox(NamedTuple):
    """`wrapping` stands before a command; without any, it is run as it is."""

    wrapping: tuple[str, ...] = ()

    @property
    def is_tight(self) -> bool:
        return bool(self.wrapping)

    def command(self, words: Sequence[str], folder: Path) -> list[str]:
        """With one folder to write in."""
        if not self.wrapping:
            return list(words)
        own = ("--bind", str(folder), str(folder), "--remount-ro", "/", "--chdir", str(folder))
        return [*self.wrapping, *own, "--", *words]


def sandbox_here() -> Sandbox:
    """The tightest that works on this computer."""
    program = shutil.which("bwrap")
    if program is None:
        return _without("bubblewrap is not installed (apt install bubblewrap)")
    sandbox = Sandbox((program, *ALONE, *_mounts()))
    problem = _problem_of(sandbox)
    return _without(f"bubblewrap does not work here ({problem})") if problem else sandbox


def _without(why: str) -> Sandbox:
    log.warning(
        "%s: parsers are kept to their limits, but can use the network and read your files. "
        "The limits guard against mistakes, not malice: run only parsers you trust",
        why,
    )
    return Sandbox()


def _problem_of(sandbox: Sandbox) -> str | None:
    """Why it cannot even start Python with what every parser needs: packages may be links to where
    nothing can be seen."""
    command = sandbox.command([sys.executable, "-P", "-c", "import orjson"], OURS)
    folders = {"PYTHONPATH": module_environment()["PYTHONPATH"]}
    try:
        subprocess.run(  # noqa: S603
            command,
            check=True,
            timeout=TRIAL_S,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            env=folders,
        )
    except subprocess.CalledProcessError as error:
        said = error.stderr.decode(errors="replace").strip().splitlines()
        return one_line(said[-1])[:200] if said else f"exit code {error.returncode}"
    except (OSError, subprocess.TimeoutExpired) as error:
        return one_line(str(error))[:200]
    return None


def _mounts() -> Iterator[str]:
    for place in SYSTEM:
        if Path(place).is_symlink():
            yield from ("--symlink", str(Path(place).readlink()), place)
        else:
            yield from ("--ro-bind-try", place, place)
    for place in READ:
        yield from ("--ro-bind-try", place, place)
    yield from ("--proc", "/proc", "--dir", "/tmp")  # noqa: S108  # programs think there is one
    for place in _of_python():
        yield from ("--ro-bind-try", place, place)


def _of_python() -> list[str]:
    """The interpreter, the packages that were installed, and ours: not the folder ours lies in,
    where settings and states may be."""
    libraries = [each for each in sys.path if Path(each).name in LIBRARIES]
    places = [sys.base_prefix, sys.prefix, *libraries, str(OURS.parent / PACKAGE)]
    paths = dict.fromkeys(os.path.abspath(each) for each in places)  # noqa: PTH100  # links stay
    return sorted(each for each in paths if not each.startswith("/usr/"))
