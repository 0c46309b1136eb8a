"""Where media come from: what a provider is, and what it finds.

A provider's module begins with what may change without notice: base address, limits, licences.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol


class Candidate(NamedTuple):
    """A file somebody offers, as far as it is known before it is fetched."""

    url: str
    page: str  # where a person sees it with its licence
    license: str  # a code of licence.py, such as cc-by-sa-4.0
    license_url: str | None
    author: str
    title: str | None = None
    bytes: int | None = None  # of exactly this file
    mime: str | None = None
    duration: float | None = None  # seconds
    sha1: str | None = None
    md5: str | None = None
    remark: str | None = None  # what its provider asks of those who use it


class Provider(Protocol):
    """What the modules here implement; most of them as it is said here."""

    name: str
    kinds: frozenset[str]  # of add.KINDS
    is_for_relations: bool = True  # or for concepts alone
    is_link_only: bool = False  # its files may be pointed at but not kept

    def search(self, text: str, kind: str) -> list[Candidate]:
        """The best first. What lacks a field we must have is left out."""
