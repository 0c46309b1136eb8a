"""nats.conf: the server of the bus, and what each key may do there.

Promise: whoever has no key of ours is turned away before a word is said, and what a user is not
given is denied. All that stands in the text is ours or was checked (`names`, `node_list`).
"""

from __future__ import annotations

import json
from collections.abc import Iterable

from .join_file import host_and_port
from .names import COORDINATOR, user_of
from .node_list import NodeList
from .subjects import Permissions, coordinator_permissions, node_permissions

CONFIG_FILE, PID_FILE, LOG_FILE = "nats.conf", "nats.pid", "nats.log"
CA_FILE, SERVER_CERTIFICATE, SERVER_KEY = "ca.pem", "server.pem", "server.key"
LARGEST_MESSAGE = 8 * 2**20

_ROOM = 2**20  # for headers and subjects besides
_LOOPBACK = ("localhost", "127.0.0.1")
_TEXT = """\
# Written by `python main.py cluster`: what is changed here by hand is lost with the next node.
# The files are named as seen from this folder, so the server has to be started in it.
listen: {listen}
max_payload: {max_payload}
ping_interval: "30s"
pid_file: "{pid}"
log_file: "{log}"
logfile_size_limit: 10MB
jetstream {{
  store_dir: "jetstream"
  max_memory_store: 1GB
}}
tls {{
  cert_file: "{certificate}"
  key_file: "{key}"
  ca_file: "{ca}"
  verify_and_map: true
  timeout: 10
}}
authorization {{
  timeout: 15
  users: [
{users}
  ]
}}
"""


def config_text(known: NodeList) -> str:
    return _TEXT.format(
        listen=json.dumps(_listen(known)),
        max_payload=LARGEST_MESSAGE + _ROOM,
        pid=PID_FILE,
        log=LOG_FILE,
        certificate=SERVER_CERTIFICATE,
        key=SERVER_KEY,
        ca=CA_FILE,
        users="\n".join(_users(known)),
    )


def _listen(known: NodeList) -> str:
    """A name for this computer only is no reason to be heard by others."""
    if known.address in _LOOPBACK:
        return host_and_port("127.0.0.1", known.port)
    return host_and_port("::" if ":" in known.address else "0.0.0.0", known.port)  # noqa: S104


def _users(known: NodeList) -> Iterable[str]:
    yield _user(COORDINATOR, known.coordinator, coordinator_permissions(known.names))
    for node in known.nodes:
        yield _user(node.name, node.fingerprint, node_permissions(node.name))


def _user(name: str, fingerprint: str, may: Permissions) -> str:
    return (
        f"    {{ user: {json.dumps(user_of(name, fingerprint))}, permissions: {{\n"
        f"      publish: {{ allow: {json.dumps(may.publish)} }}\n"
        f"      subscribe: {{ allow: {json.dumps(may.subscribe)} }}\n"
        "    } }"
    )
