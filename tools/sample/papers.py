"""The seed bank's two papers, as they lie in `structures`: a certificate as PDF, a scanned label.

Promise: the same text gives the same PDF. The scan depends on the font that Pillow brings.
Run as a module it writes both anew.
"""

from __future__ import annotations

import random
from pathlib import Path

from PIL import Image, ImageDraw, ImageFont

from .seed_bank import CERTIFICATE, LABEL, PDF, SCAN

SIZE, MARGIN, LETTERS, LINE = (1000, 620), 70, 44, 78
TILT = 0.6  # degrees: nobody lays a label straight on the glass
SPECKS = 150


def certificate(lines: list[str]) -> bytes:
    """A page with these lines in a font that every reader has."""
    shown = " T* ".join(f"({_escaped(line)}) Tj" for line in lines)
    drawing = f"BT /F1 14 Tf 60 760 Td 22 TL {shown} ET".encode("ascii")
    return _pdf(
        b"<</Type/Catalog/Pages 2 0 R>>",
        b"<</Type/Pages/Kids[3 0 R]/Count 1>>",
        b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 595 842]/Contents 4 0 R"
        b"/Resources<</Font<</F1 5 0 R>>>>>>",
        b"<</Length %d>>stream\n%b\nendstream" % (len(drawing), drawing),
        b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>",
    )


def _pdf(*objects: bytes) -> bytes:
    """The first one is the catalogue; behind all stands where each begins."""
    written, places = b"%PDF-1.4\n", []
    for number, each in enumerate(objects, 1):
        places.append(b"%010d 00000 n \n" % len(written))
        written += b"%d 0 obj%b\nendobj\n" % (number, each)
    table = b"xref\n0 %d\n0000000000 65535 f \n%b" % (len(objects) + 1, b"".join(places))
    trailer = b"trailer<</Size %d/Root 1 0 R>>\nstartxref\n%d\n%%%%EOF\n"
    return written + table + trailer % (len(objects) + 1, len(written))


def _escaped(line: str) -> str:
    return line.replace("\\", "\\\\").replace("(", "\\(").replace(")", "\\)")


def scan(text: str) -> Image.Image:
    """Black on white, a little askew, with dust."""
    page = Image.new("L", SIZE, 255)
    pen = ImageDraw.Draw(page)
    font = ImageFont.load_default(LETTERS)
    for number, line in enumerate(text.splitlines()):
        pen.text((MARGIN, MARGIN + number * LINE), line, fill=0, font=font)
    page = page.rotate(TILT, Image.Resampling.BICUBIC, fillcolor=255)
    chance, pen = random.Random(1), ImageDraw.Draw(page)
    for _ in range(SPECKS):
        pen.point((chance.randrange(SIZE[0]), chance.randrange(SIZE[1])), 0)
    return page.convert("1", dither=Image.Dither.NONE)


def write(pdf: Path = PDF, png: Path = SCAN) -> None:
    pdf.write_bytes(certificate([f"{name}: {value}" for name, value in CERTIFICATE.items()]))
    scan(LABEL).save(png, optimize=True, dpi=(200, 200))


if __name__ == "__main__":
    write()
