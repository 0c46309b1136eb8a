"""Packages that only some uses need: whoever lacks one learns how to get it.

Nothing that Python 3.8 cannot read may stand here: `start` needs it.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from ..errors import UsageError
from .program import IS_INSTALLED

EXTRAS = {
    "paramiko": "ship",
    "neo4j": "neo4j",
    "apprise": "notices",
    "matplotlib": "plots",
    "pyarrow": "parquet",
    "psycopg": "postgres",
    "pymysql": "mysql",
    "pdfplumber": "pdf-tables",
    "pymongo": "mongodb",
    "prometheus_client": "metrics",
    "nats": "cluster",
    "cryptography": "cluster",
    "starlette": "serve",
    "uvicorn": "serve",
}
"""Each package and the extra of pyproject.toml that brings it."""


@contextmanager
def named() -> Iterator[None]:
    """A package that is missing ends what is done inside with a sentence about it."""
    try:
        yield
    except ModuleNotFoundError as error:
        package = (error.name or "").partition(".")[0]
        if package not in EXTRAS:
            raise
        raise UsageError(f"this needs the package {package}: {remedy(package)}") from error


def remedy(package: str, is_installed: bool = IS_INSTALLED) -> str:
    """
    >>> remedy("matplotlib", is_installed=True)
    "pip install 'sheaf[plots]'"
    """
    if is_installed:
        return f"pip install 'sheaf[{EXTRAS[package]}]'"
    return "pip install -r requirements.txt"
