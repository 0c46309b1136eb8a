"""PDF: the text of every page; with `tables`, the tables of all pages.

Promise: a table that goes on at the top of the next page, in the same place and with as many
columns, is one table, and its first row names its columns.
Limit: nothing is read that needs a password. Finding tables takes a quarter of a second a page.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from io import BytesIO
from typing import TYPE_CHECKING, Any

from ...base import extras
from ...documents.grid import Row, names_of, objects
from ...errors import GiveUp

if TYPE_CHECKING:
    import pdfplumber
    import pypdfium2

HYPHEN = "\ufffe"  # pdfium's word for one that only parted a word at the end of a line
SAME_PLACE = 3.0  # points
WRONG_PASSWORD = 4  # as pdfium numbers it


class RawParser:
    """`tables`: pdfplumber's settings for finding them; an empty table is its own."""

    def __init__(self, tables: Mapping[str, Any] | None = None) -> None:
        self._settings = tables
        if tables is not None:
            _check(tables)

    def parse(self, raw: bytes) -> dict[str, Any]:
        pdf = opened(raw)
        pages = [
            {"page": number, "text": _text_of(pdf, number)} for number in range(1, len(pdf) + 1)
        ]
        if all(page["text"] is None for page in pages):
            raise GiveUp("the PDF is broken: none of its pages can be read")
        found = {"meta": pdf.get_metadata_dict(skip_empty=True), "pages": pages}
        if self._settings is None:
            return found
        return found | {"tables": [*_tables(raw, pdf, dict(self._settings))]}


def opened(raw: bytes) -> pypdfium2.PdfDocument:
    """GiveUp if it cannot be."""
    from pypdfium2 import PdfDocument, PdfiumError

    if not raw.strip():
        raise GiveUp("empty")
    try:
        return PdfDocument(raw)
    except PdfiumError as error:
        if error.err_code == WRONG_PASSWORD:
            raise GiveUp("the PDF is encrypted: it opens only with a password") from None
        is_pdf = b"%PDF" in raw[:1024]
        reason = "the PDF is broken: it cannot be opened" if is_pdf else "this is no PDF"
        raise GiveUp(reason) from None


def _text_of(pdf: pypdfium2.PdfDocument, number: int) -> str | None:
    """None if this page cannot be read; the others may be."""
    from pypdfium2 import PdfiumError

    try:
        text: str = pdf[number - 1].get_textpage().get_text_range()
    except PdfiumError:
        return None
    return text.replace("\r\n", "\n").replace(HYPHEN, "").replace("\x00", "")


def _check(settings: Mapping[str, Any]) -> None:
    if not isinstance(settings, Mapping):
        raise ValueError(f"tables must be a table of settings, such as {{}}, not {settings!r}")
    with extras.named():
        from pdfplumber.table import TableSettings
    try:
        TableSettings.resolve(dict(settings))
    except (TypeError, ValueError) as error:
        raise ValueError(f"tables: {error}") from None


def _tables(
    raw: bytes, pdf: pypdfium2.PdfDocument, settings: dict[str, Any]
) -> Iterator[dict[str, Any]]:
    """With the pages it stands on."""
    for pieces in _joined(_pieces(raw, pdf, settings)):
        rows = [row for _, _, part in pieces for row in part]
        header, *others = rows
        others = [row for row in others if row != header]  # many repeat it on every page
        yield {
            "pages": [page for page, _, _ in pieces],
            "rows": objects(others, names_of(header)),
        }


Piece = tuple[int, tuple[float, float], list[Row]]
"""The page, left and right edge, and rows of what stands on one page of a table."""


def _pieces(
    raw: bytes, pdf: pypdfium2.PdfDocument, settings: dict[str, Any]
) -> Iterator[list[Piece]]:
    """Page by page."""
    import pdfplumber
    from pdfminer.pdfexceptions import PDFException
    from pdfplumber.utils.exceptions import PdfminerException

    try:
        with pdfplumber.open(BytesIO(raw)) as plumber:
            for number, page in enumerate(plumber.pages, start=1):
                tables = page.find_tables(settings)
                yield [
                    (number, (each.bbox[0], each.bbox[2]), _cells(page, pdf, each, settings))
                    for each in tables
                ]
                page.close()
    except (PDFException, PdfminerException) as error:
        raise GiveUp(f"the tables of the PDF cannot be read ({error})") from None


def _cells(
    page: pdfplumber.page.Page, pdf: pypdfium2.PdfDocument, table: Any, settings: dict[str, Any]
) -> list[Row]:
    """Where the page lies as it is written, pdfium says what is in a cell: it leaves out blanks
    that lie over other letters. Settings for text are for pdfplumber alone."""
    asks_for_text = any(name.startswith("text_") for name in settings)
    if asks_for_text or page.rotation or tuple(page.bbox[:2]) != (0, 0):
        return [[_one_line(cell) for cell in row] for row in table.extract(**_of_text(settings))]
    words, height = pdf[page.page_number - 1].get_textpage(), float(page.height)

    def content(box: tuple[float, float, float, float] | None) -> str | None:
        if box is None:
            return None
        left, top, right, bottom = box
        return _one_line(words.get_text_bounded(left, height - bottom, right, height - top))

    return [[content(cell) for cell in row.cells] for row in table.rows]


def _of_text(settings: dict[str, Any]) -> dict[str, Any]:
    return {name[5:]: said for name, said in settings.items() if name.startswith("text_")}


def _one_line(cell: str | None) -> str | None:
    return None if cell is None else " ".join(cell.replace(HYPHEN, "").split())


def _joined(pages: Iterator[list[Piece]]) -> list[list[Piece]]:
    """The last table of a page and the first of the next are one if they have the same shape."""
    found: list[list[Piece]] = []
    for pieces in pages:
        for number, piece in enumerate(pieces):
            if number == 0 and found and _goes_on(found[-1][-1], piece):
                found[-1].append(piece)
            elif piece[2]:
                found.append([piece])
    return found


def _goes_on(before: Piece, piece: Piece) -> bool:
    is_next = before[0] + 1 == piece[0] and bool(piece[2])
    edges = zip(before[1], piece[1], strict=True)
    return (
        is_next
        and len(before[2][-1]) == len(piece[2][0])
        and all(abs(one - other) <= SAME_PLACE for one, other in edges)
    )
