"""One request and its answer, as the statistics and the log see it."""

from __future__ import annotations

import logging
from dataclasses import dataclass

from ..base.why import Why
from ..proxy import without_password
from .trouble import shown

logger = logging.getLogger(__name__)


@dataclass(slots=True)
class Exchange:
    host: str
    status: int = 0  # 0: no answer
    size: int = 0
    sent: int = 0
    seconds: float = 0.0
    failure: Why | None = None  # why there was no answer

    def tell(self, method: str, url: str, proxy: str | None) -> None:
        if logger.isEnabledFor(logging.DEBUG):
            told = f"HTTP {self.status}" if self.status else "no answer"
            way = f" through {without_password(proxy)}" if proxy else ""
            text = "%s %s%s: %s, %d bytes in %.3f s"
            logger.debug(text, method, shown(url), way, told, self.size, self.seconds)
