"""The site of `bench/layers.py`: listings of fifty and a page for each item, as quickly as it can.

    python bench/layers_shop.py 20000

It prints its address, then for each line it reads how many pages it has been asked for since.
"""

from __future__ import annotations

import asyncio
import sys

A_LIST = 50


class Shop:
    def __init__(self, items: int) -> None:
        self.items = items
        self.asked = 0

    def page(self, path: str) -> str:
        if path == "/":
            lists = range(-(-self.items // A_LIST))
            return "".join(f"<a class='list' href='/l/{number}'>{number}</a>" for number in lists)
        kind, _, number = path[1:].partition("/")
        if kind == "l":
            first = int(number) * A_LIST
            shown = range(first, min(self.items, first + A_LIST))
            return "".join(f"<li><a href='/p/{each}'>item {each}</a></li>" for each in shown)
        return (
            f"<html><head><title>Item {number}</title></head><body><h1>Item {number}</h1>"
            f"<p class='price'>EUR {number}.50</p><table><tr><th>SKU</th><td>S-{number}</td></tr>"
            "</table></body></html>"
        )

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                self.asked += 1
                body = self.page(head.split(b" ", 2)[1].decode()).encode()
                kind = "Content-Type: text/html; charset=utf-8"
                length = f"Content-Length: {len(body)}"
                writer.write(f"HTTP/1.1 200 OK\r\n{kind}\r\n{length}\r\n\r\n".encode() + body)
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()

    def take(self) -> int:
        asked, self.asked = self.asked, 0
        return asked


async def main(items: int) -> None:
    shop = Shop(items)
    server = await asyncio.start_server(shop.serve, "127.0.0.1", 0)
    print(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/", flush=True)
    loop = asyncio.get_running_loop()
    while await loop.run_in_executor(None, sys.stdin.readline):
        print(shop.take(), flush=True)


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1])))
