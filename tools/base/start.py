"""Imported before everything else: where Sheaf cannot run, it says so in one sentence.

Nothing but the standard library, and nothing that Python 3.8 cannot read, may stand here and in
what is imported here. Our other modules are not looked at: whatever is wrong with them is a bug,
and is shown as one.
"""

from __future__ import annotations

import sys
from importlib.util import find_spec

from .extras import EXTRAS
from .program import IS_INSTALLED

TOO_OLD = "Sheaf needs Python 3.11 or newer, and this is Python"
PACKAGES = (  # in the order of requirements.txt
    *("requests", "urllib3", "socks", "paramiko", "tqdm", "neo4j", "orjson", "pyrate_limiter"),
    *("PIL", "soundfile", "numpy", "apscheduler", "apprise", "matplotlib", "isal", "zstandard"),
    *("xxhash", "pyarrow", "turbohtml", "ada_url", "protego", "warcio", "publicsuffixlist"),
    *("prometheus_client", "psycopg", "sqlalchemy", "pymysql", "parsel", "jmespath"),
    *("pypdfium2", "pdfplumber", "pymongo", "cryptography", "nats", "starlette", "uvicorn"),
    "jinja2",
)
MOST_NAMED = 3


def trouble(is_installed: bool = IS_INSTALLED) -> str | None:
    if sys.version_info < (3, 11):  # noqa: UP036  # whoever starts it may have an older one
        return "{} {}.{}".format(TOO_OLD, *sys.version_info)
    if find_spec("fcntl") is None:
        return "Sheaf runs on Linux and macOS only; on Windows, run it in WSL"
    missing = [name for name in wanted(is_installed) if find_spec(name) is None]
    if not missing:
        return None
    named, more = ", ".join(missing[:MOST_NAMED]), len(missing) - MOST_NAMED
    if more > 0:
        named += f" and {more} more packages"
    way = "`pip install sheaf`" if is_installed else "`make run` once, then `. .venv/bin/activate`"
    return f"this Python lacks {named}: run {way}"


def wanted(is_installed: bool) -> list[str]:
    """Whoever installs Sheaf chooses among the extras; a clone has all of them."""
    return [name for name in PACKAGES if not (is_installed and name in EXTRAS)]


def exit_if_unable() -> None:
    sentence = trouble()
    if sentence is not None:
        sys.stderr.write(f"sheaf: {sentence}\n")
        sys.exit(2)


exit_if_unable()
