"""The one file with which a node joins: whom to call, whom to trust, its own key.

Promise: a file that others can read is refused, and no message holds any of its content.
"""

from __future__ import annotations

import json
import ssl
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Any, NamedTuple

from ..base.credentials import read_secret
from ..errors import UsageError
from .names import COORDINATOR, is_host, is_ip, is_node_name
from .private_file import write_private

FORMAT = 1
SUFFIX = ".sheaf"

_LONGEST = 100_000  # bytes; a real one has some 2,500
_ANEW = "`python main.py cluster add NAME` on the coordinator's machine writes a new one"


class Join(NamedTuple):
    """`ca`, `certificate` and `key` are PEM texts."""

    name: str
    address: str
    port: int
    ca: str
    certificate: str
    key: str

    @property
    def url(self) -> str:
        """What a client of NATS is told to connect to."""
        return f"tls://{host_and_port(self.address, self.port)}"


def host_and_port(address: str, port: int) -> str:
    """
    >>> host_and_port("::1", 4222), host_and_port("example.org", 4222)
    ('[::1]:4222', 'example.org:4222')
    """
    return f"[{address}]:{port}" if is_ip(address) and ":" in address else f"{address}:{port}"


def read_join(path: Path) -> Join:
    text = read_secret(path)
    try:
        fields = json.loads(text) if len(text) <= _LONGEST else None
    except (ValueError, RecursionError):  # its text holds the key
        fields = None
    if not isinstance(fields, dict) or not isinstance(fields.get("format"), int):
        raise _damaged(path)
    if fields["format"] != FORMAT:
        raise UsageError(
            f"{path} is of another version of Sheaf (format {fields['format']}, here {FORMAT}): "
            "use the same version on all machines"
        )
    return _join_of(fields, path)


def write_join(path: Path, join: Join) -> None:
    text = json.dumps({"format": FORMAT, **join._asdict()}, indent=1)
    try:
        write_private(path, text + "\n")
    except OSError as error:
        raise UsageError(f"{path} cannot be written ({error.strerror})") from error


def tls_of(join: Join) -> ssl.SSLContext:
    """For a client: the server is known by our own authority only, and we show our certificate."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    try:
        context.load_verify_locations(cadata=join.ca)
        with NamedTemporaryFile("w", encoding="utf-8", suffix=".pem") as file:  # closed to others
            file.write(join.certificate + join.key)
            file.flush()
            context.load_cert_chain(file.name, password=_no_password)
    except (ssl.SSLError, ValueError):
        raise UsageError(f"the keys in the join file of {join.name} are damaged: {_ANEW}") from None
    except OSError as error:
        raise UsageError(f"no temporary file can be written ({error.strerror})") from error
    return context


def _join_of(fields: dict[str, Any], path: Path) -> Join:
    values = [fields.get(name) for name in Join._fields]
    name, address, port, *texts = values
    if not (
        isinstance(name, str)
        and (is_node_name(name) or name == COORDINATOR)
        and isinstance(address, str)
        and is_host(address)
        and type(port) is int
        and 0 < port < 65_536
        and all(isinstance(text, str) and "-----BEGIN" in text for text in texts)
    ):
        raise _damaged(path)
    return Join(name, address, port, *map(str, texts))


def _damaged(path: Path) -> UsageError:
    return UsageError(f"{path} is not a join file, or it is damaged: {_ANEW}")


def _no_password() -> str:
    """Instead of a question at the terminal, if somebody has put a locked key into the file."""
    return ""
