"""Writes whole transactions until it is killed: python -m tests.tables.writer ADDRESS FOLDER"""

from __future__ import annotations

import sys
from itertools import count
from pathlib import Path

from tests.tables.target_contract import TABLES, brought, product, tag
from tools.tables.target import open_target

A_TRANSACTION = 200


def main(address: str, folder: Path) -> None:
    target = open_target(address, folder)
    target.prepare(TABLES)
    for first in count(step=A_TRANSACTION):
        numbers = range(first, first + A_TRANSACTION)
        target.write(
            [brought(product(f"{each}"), tag("x"), tag("y"), source=f"{each}") for each in numbers]
        )
        print("written", flush=True)


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
