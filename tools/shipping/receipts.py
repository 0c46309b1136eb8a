"""What the receiving node writes when it has taken in a batch, or has refused it.

Promise: only a receipt for exactly the bytes that were sent counts, and with a secret only one that
is signed with it.
"""

from __future__ import annotations

import hashlib
import hmac
import logging
from typing import Any

import orjson

from ..errors import Unreachable
from .batch import Batch
from .sftp import Node

logger = logging.getLogger(__name__)


class Quarantined(Unreachable):
    """The node has refused a batch; it stays here, and the others go on."""


class Receipts:
    def __init__(self, folder: str, secret: str) -> None:
        self._folder = folder  # on the node
        self._secret = secret
        self._outdated: dict[str, bytes] = {}  # those of batches that were sent again

    def has(self, node: Node, batch: Batch, is_forced: bool = False) -> bool:
        """Has it arrived? Raises Quarantined if it was refused, unless it is to be sent again."""
        if any(each.name not in batch.sent for each in batch.volumes):
            return False
        path = f"{self._folder}/{batch.name}.json"
        text = node.read(path)
        if text is None or not self._is_signed(node, path, text):
            return False
        receipt = _parsed(text)
        if receipt.get("manifest_sha256") != hashlib.sha256(batch.manifest()).hexdigest():
            return False
        if receipt.get("state") == "quarantined":
            self._require_forced(node, batch, text, is_forced)
        return receipt.get("state") == "merged"

    def _require_forced(self, node: Node, batch: Batch, text: bytes, is_forced: bool) -> None:
        """Who sends it again does not want to hear of the old receipt."""
        if is_forced:
            self._outdated[batch.name] = text
        if text == self._outdated.get(batch.name):
            return
        reason = str(_parsed(text).get("reason", ""))[:200]
        raise Quarantined(
            f"{node.place} has put batch {batch.name} into quarantine: {reason!r}. Its files stay "
            f"here; when the reason is gone: python main.py ship --batch {batch.name}"
        )

    def _is_signed(self, node: Node, path: str, text: bytes) -> bool:
        if not self._secret:
            return True
        given = (node.read(f"{path}.hmac") or b"").strip()
        if hmac.compare_digest(given, signature(self._secret, text).encode()):
            return True
        logger.warning("%s is not signed with our secret: it does not count", path)
        return False


def signature(secret: str, content: bytes) -> str:
    return hmac.new(secret.encode(), content, hashlib.sha256).hexdigest()


def _parsed(text: bytes) -> dict[str, Any]:
    try:
        receipt = orjson.loads(text)
    except orjson.JSONDecodeError:
        return {}
    return receipt if isinstance(receipt, dict) else {}
