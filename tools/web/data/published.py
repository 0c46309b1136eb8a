"""What others publish of their multimodal graphs: figures with their source, nothing of ours."""

from __future__ import annotations

from typing import NamedTuple

COMPARISON = "comparison table in the README of IMDB4M"
OWN = "what its authors publish"


class Published(NamedTuple):
    name: str
    year: int | None
    entities: int | None
    relation_types: int | None
    facts: int | None
    images: int | None
    covered: dict[str, int]  # entities that have at least one, by modality
    form: str
    source: str

    def share(self, modality: str) -> float | None:
        """
        >>> round(PUBLISHED[0].share("image"), 1), PUBLISHED[0].share("text")
        (98.1, None)
        """
        if not self.entities or modality not in self.covered:
            return None
        return 100 * self.covered[modality] / self.entities


PUBLISHED = (
    Published(
        "TIVA-KG (its benchmark)",
        2023,
        11_858,
        16,
        None,
        None,
        {"image": 11_636, "video": 10_269, "audio": 2_441},
        "tar, HDF5 features, text files",
        COMPARISON,
    ),
    Published(
        "KVC16K",
        None,
        16_015,
        4,
        None,
        None,
        {"image": 14_822, "video": 14_822, "audio": 14_822, "text": 14_822},
        "folders of ids, feature files",
        COMPARISON,
    ),
    Published(
        "MKG-W",
        None,
        15_000,
        169,
        None,
        None,
        {"image": 14_463, "text": 14_123},
        "folders of ids, feature files",
        COMPARISON,
    ),
    Published(
        "MKG-Y",
        None,
        15_000,
        28,
        None,
        None,
        {"image": 14_244, "text": 12_305},
        "folders of ids, feature files",
        COMPARISON,
    ),
    Published("VisualSem v2", None, 89_896, 13, 1_500_000, 930_000, {}, "JSON, features", OWN),
    Published("IMGpedia", 2017, None, None, 450_000_000, 15_000_000, {}, "RDF, SPARQL", OWN),
    Published("MarKG", 2023, 11_292, 192, None, 76_424, {}, "text, images", OWN),
    Published("AspectMMKG", 2023, 2_380, None, None, 645_383, {}, "images for each aspect", OWN),
    Published("M2ConceptBase", 2024, 151_776, None, None, 951_089, {}, "its own site", OWN),
    Published("ImgFact", 2024, None, None, 247_732, 3_730_805, {}, "images of triples", OWN),
    Published("MMpedia", 2023, 2_661_941, None, None, 19_489_074, {}, "Zenodo", OWN),
    Published(
        "IMDB4M",
        2026,
        656_121,
        58,
        None,
        None,
        {"image": 34_039, "video": 3_981, "audio": 4_521},
        "RDF, Zenodo",
        "its own README",
    ),
    Published("UKnow", 2024, 1_388_568, None, None, None, {}, "571,791 nodes are visual", OWN),
)
"""Graphs whose figures could not be found in what their authors publish are not listed."""
