"""Other people's readers of web archives. Some warn while they are imported, which is no concern of
ours."""

from __future__ import annotations

import warnings
from io import BytesIO

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    from cdxj_indexer.main import CDXJIndexer
    from fastwarc.warc import ArchiveIterator as FastIterator
    from surt import surt as their_surt

__all__ = ["CDXJIndexer", "fast_records", "their_surt"]


def fast_records(content: bytes) -> list[tuple[str, bool]]:
    """What fastwarc reads: the kind of each record, and whether its block is what it says."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        records = FastIterator(BytesIO(content), parse_http=False)
        return [(str(each.headers["WARC-Type"]), each.verify_block_digest()) for each in records]
