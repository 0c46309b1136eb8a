"""The peers of `bench/pages.py`, each installed once into a folder of its own."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from bench.report import Say

BENCH = Path(__file__).resolve().parent
HOME = Path.home() / ".cache" / "sheaf"
VENV = HOME / "scrapy-venv"
COLLY = HOME / "colly"
PACKAGES = ("scrapy==2.19.0", "warcio==1.8.1", "requests==2.34.2", "lxml==6.1.3")
COLLY_MODULE = "github.com/gocolly/colly/v2@v2.3.0"
SCRAPY = "Scrapy with WARC"


def install(say: Say) -> None:
    if not (VENV / "bin" / "scrapy").exists():
        say(f"pages: installing {', '.join(PACKAGES)} into {VENV}")
        _run([sys.executable, "-m", "venv", "--clear", str(VENV)], BENCH)
        _run([str(VENV / "bin" / "pip"), "install", "--quiet", *PACKAGES], BENCH)
    if shutil.which("go") and not (COLLY / "colly").exists():
        say(f"pages: building {COLLY_MODULE} in {COLLY}")
        shutil.rmtree(COLLY, ignore_errors=True)
        COLLY.mkdir(parents=True)
        shutil.copy(BENCH / "pages_colly.go", COLLY / "main.go")
        _run(["go", "mod", "init", "peer"], COLLY)
        _run(["go", "get", COLLY_MODULE], COLLY)
        _run(["go", "build", "-o", "colly", "."], COLLY)


def commands(seed: str, at_once: int) -> Mapping[str, Sequence[str]]:
    """By name; each is to be run in an empty folder. Those that are not here are left out."""
    python = str(VENV / "bin" / "python")
    found = {
        SCRAPY: [python, str(BENCH / "pages_scrapy.py"), seed, str(at_once), "."],
        "requests + lxml, stores nothing": [
            *(python, str(BENCH / "pages_walk.py"), seed, str(at_once))
        ],
    }
    if (COLLY / "colly").exists():
        found["Colly, stores nothing"] = [str(COLLY / "colly"), seed, str(at_once)]
    if shutil.which("wget"):
        quietly = ["-q", "-e", "robots=off", "--recursive", "--level=inf", "--no-parent"]
        kept = ["--delete-after", "--warc-file=site"]
        found["wget with WARC, one connection"] = ["wget", *quietly, *kept, seed]
    return found


def _run(command: Sequence[str], folder: Path) -> None:
    subprocess.run(command, cwd=folder, check=True, timeout=900, capture_output=True)
