"""The built-in documents of the job `structure`: a small seed bank, with what real offices have.

Promise: `TRUTH` are the rows that its two structures must give, table by table. Its pages have a
date in three ways of writing, a number that is none, a name that is no SQL, a copy of one of them;
its trials are nested; its certificate is a PDF, its label a scan.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

STRUCTURES = Path(__file__).with_name("structures")
"""The folder with both of them, as a user would write them."""
PDF, SCAN = STRUCTURES / "raw" / "A-001.pdf", STRUCTURES / "scans" / "label.png"
CERTIFICATE = {
    "accession": "A-001",
    "certificate": "C-2024/7",
    "issued": "2024-05-02",
    "until": "2027-06-30",
}
LABEL = """SEED BANK OF THE GREEN HILL
Accession A-001
Paeonia suffruticosa
Collected near Luoyang in 2013
Keep dry at minus 18 degrees
Do not open"""

Rows = Sequence[tuple[Any, ...]]
TRUTH: Mapping[str, Mapping[str, Rows]] = {
    "seeds": {
        "accession": [
            ("A-001", "牡丹", "Paeonia suffruticosa", "2013-12-18", 1200),
            ("A-002", "水稻", "Oryza sativa", "2015-02-01", None),  # 24 粒 is no number
            ("A-003", "Robert'); DROP TABLE accession;--", "Pisum sativum", "2018-07-04", 0),
            ("A-004", "向日葵", "Helianthus annuus", "2019-09-30", 560),
        ],
        "collector": [
            ("A-001", 1, "王芳", "洛阳植物园"),
            ("A-001", 2, "Nora O'Brien", "Kew"),
            ("A-002", 1, "李磊", "农科院"),
            ("A-004", 1, "Ada Ruiz", "Valle Verde"),
        ],
        "trial": [
            ("A-001", 1, 2021, '{"温度": 20, "光照": ["12 h", "8 h"]}'),
            ("A-001", 2, 2022, "{}"),
            ("A-004", 1, 2023, ""),  # text that is missing is empty
        ],
        "germination": [
            ("A-001", 1, 7, 31.5),
            ("A-001", 1, 14, 68.25),
            ("A-004", 1, 5, 90),
        ],
        "certificate": [("A-001", "C-2024/7", "2024-05-02", "2027-06-30")],
        "_problems": [("accession", "seeds", "24 粒")],
    },
    "labels": {
        "label": [("scans/label.png", LABEL)],
        "word": [("scans/label.png", word) for word in LABEL.split()],
    },
}
