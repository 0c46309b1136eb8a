"""Which products a brand has, by the search form of the built-in shop: a task as a class."""

from sheaf.layers import Request, Row, Task


class Brands(Task):
    about = "brands of the built-in shop, by its search form"
    base = "http://shop.example/"
    database = "sqlite:brands.db"
    layers = {"form": 0, "hits": 1}  # layer -> how deep it is
    first = (Request("form", "GET", "/search"),)
    tables = {
        "brand_hit": {
            "key": ("brand", "sku"),
            "columns": {"brand": "VARCHAR(50)", "sku": "VARCHAR(20)", "name": "TEXT"},
        }
    }
    forget = {"__STATE"}  # another one on each page: it does not say which page is meant

    def work(self, request, page):
        form = page.form("form#f")
        if request.layer == "form":
            for brand in page.css("option::attr(value)").getall():
                yield form.request("hits", brand=brand)
            return
        brand = request.value("brand")
        for hit in page.css("li.hit"):
            name = hit.css("::text").get()
            yield Row("brand_hit", brand=brand, sku=hit.attrib["data-sku"], name=name)
        if more := page.css("button.more::attr(value)").get():
            yield form.request("hits", brand=brand, page=more)

    def after(self, tables):
        """If nothing was stored, the form is asked for once more."""
        if not tables.select("SELECT brand FROM brand_hit LIMIT 1"):
            yield from self.first
