"""Small PDFs and scans, made here: what stands on them is known to the letter."""

from __future__ import annotations

from collections.abc import Sequence
from io import BytesIO

from PIL import Image, ImageDraw, ImageFont

LOCK = "/Encrypt << /Filter /Standard /V 1 /R 2 /P -4 /O <{0}> /U <{0}> >> /ID [<00> <00>]"


def text_at(x: float, y: float, text: str) -> str:
    return f"BT /F1 12 Tf {x} {y} Td ({text}) Tj ET\n"


def ruled(rows: Sequence[Sequence[str]], top: float = 700) -> str:
    """A table with lines around its cells, each 120 points wide."""
    drawn = []
    right, bottom = 50 + 120 * len(rows[0]), top - 20 * len(rows)
    for number in range(len(rows) + 1):
        drawn.append(f"50 {top - 20 * number} m {right} {top - 20 * number} l S")
    for number in range(len(rows[0]) + 1):
        drawn.append(f"{50 + 120 * number} {top} m {50 + 120 * number} {bottom} l S")
    for down, row in enumerate(rows):
        for across, cell in enumerate(row):
            drawn.append(text_at(55 + 120 * across, top - 15 - 20 * down, cell))
    return "\n".join(drawn) + "\n"


def pdf_of(pages: Sequence[str], trailer: str = "") -> bytes:
    """A page for each content."""
    kids = " ".join(f"{4 + 2 * number} 0 R" for number in range(len(pages)))
    objects = [
        "<< /Type /Catalog /Pages 2 0 R >>",
        f"<< /Type /Pages /Kids [{kids}] /Count {len(pages)} >>",
        "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    ]
    for number, content in enumerate(pages):
        objects += [
            "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] "
            f"/Resources << /Font << /F1 3 0 R >> >> /Contents {5 + 2 * number} 0 R >>",
            f"<< /Length {len(content)} >>\nstream\n{content}\nendstream",
        ]
    return _written(objects, trailer)


def locked_pdf() -> bytes:
    return pdf_of([text_at(50, 700, "secret")], LOCK.format("ab" * 32))


def _written(objects: Sequence[str], trailer: str) -> bytes:
    file, places = BytesIO(b""), []
    file.write(b"%PDF-1.4\n")
    for number, each in enumerate(objects, start=1):
        places.append(file.tell())
        file.write(f"{number} 0 obj\n{each}\nendobj\n".encode())
    start = file.tell()
    file.write(f"xref\n0 {len(places) + 1}\n0000000000 65535 f \n".encode())
    for place in places:
        file.write(f"{place:010} 00000 n \n".encode())
    head = f"<< /Size {len(places) + 1} /Root 1 0 R {trailer} >>"
    file.write(f"trailer\n{head}\nstartxref\n{start}\n%%EOF\n".encode())
    return file.getvalue()


def scan_of(*pages: str, format: str = "PNG") -> bytes:
    """Black on white, in letters as large as on paper; several pages only as TIFF."""
    drawn = [_drawn(each) for each in pages]
    file = BytesIO()
    more = {"save_all": True, "append_images": drawn[1:]} if len(drawn) > 1 else {}
    drawn[0].save(file, format, **more)
    return file.getvalue()


def _drawn(text: str) -> Image.Image:
    picture = Image.new("L", (1200, 120 + 80 * text.count("\n")), 255)
    ImageDraw.Draw(picture).text((40, 30), text, fill=0, font=ImageFont.load_default(48))
    return picture
