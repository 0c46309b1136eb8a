from parsel import Selector


class RawParser:
    """The page of an accession -> {its number: {档案: facts, 采集人: [...]}}."""

    def parse(self, raw: bytes):
        page = Selector(body=raw, type="html")
        facts = {
            row.css("th::text").get(): row.css("td::text").get("") for row in page.css(".facts tr")
        }
        cells = [row.css("td::text").getall() for row in page.css(".collectors tr")[1:]]
        people = [dict(zip(("序号", "姓名", "单位"), row, strict=True)) for row in cells]
        return {facts["编号"]: {"档案": facts, "采集人": people}}
