"""What a node may be called.

Promise: a name is safe as a file's name, as a word of a subject and inside nats.conf.
"""

from __future__ import annotations

import re
from ipaddress import IPv6Address, ip_address

from ..errors import UsageError

COORDINATOR = "coordinator"

_NAME = re.compile(r"[a-z0-9][a-z0-9-]{0,31}", re.ASCII)
_HOST = re.compile(r"(?!-)[a-z0-9-]{1,63}(?<!-)(\.(?!-)[a-z0-9-]{1,63}(?<!-))*", re.ASCII)
_LONGEST_HOST = 253


def is_node_name(text: str) -> bool:
    """
    >>> is_node_name("lab-7"), is_node_name("Lab"), is_node_name("a.b"), is_node_name("coordinator")
    (True, False, False, False)
    """
    return _NAME.fullmatch(text) is not None and text != COORDINATOR


def require_node_name(text: str) -> str:
    if text == COORDINATOR:
        raise UsageError(f"{COORDINATOR} is the name of the one that hands out: choose another")
    if not is_node_name(text):
        raise UsageError(
            f"{text!r} cannot be the name of a node: 1 to 32 of a-z, 0-9 and -, no - first"
        )
    return text


def user_of(name: str, fingerprint: str) -> str:
    """How nats.conf calls whoever holds this key: it stands in the certificate."""
    return f"urn:sheaf:{name}:{fingerprint}"


def is_host(text: str) -> bool:
    """
    >>> is_host("harvest.example.org"), is_host("::1"), is_host("10.0.0.7"), is_host("a b")
    (True, True, True, False)
    """
    return is_ip(text) or (len(text) <= _LONGEST_HOST and _HOST.fullmatch(text) is not None)


def is_ip(text: str) -> bool:
    try:
        ip = ip_address(text)
    except ValueError:
        return False
    return not (isinstance(ip, IPv6Address) and ip.scope_id)  # a scope means nothing elsewhere
