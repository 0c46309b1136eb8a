import re

import pypdfium2


class RawParser:
    """A certificate as PDF -> {the accession's number: {证书: {...}}}."""

    def parse(self, raw: bytes):
        pages = pypdfium2.PdfDocument(raw)
        text = "\n".join(page.get_textpage().get_text_bounded() for page in pages)
        said = dict(re.findall(r"^(\w+): (.+?)\s*$", text, re.MULTILINE))
        certificate = {
            "编号": said["certificate"],
            "签发": said["issued"],
            "有效期至": said["until"],
        }
        return {said["accession"]: {"证书": certificate}}
