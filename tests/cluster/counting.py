"""The program of a server that notes when it is asked, in a process of its own: whoever shares one
with those who ask would note it late when they are busy.

/times is what it has noted; what is asked below /new comes over a connection each.
"""

from __future__ import annotations

import asyncio
import json
import time

ANSWER = "HTTP/1.1 200 OK\r\nContent-Length: {}\r\nConnection: {}\r\n\r\n{}"
TIMES: list[float] = []


async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        while head := await reader.readuntil(b"\r\n\r\n"):
            path = head.split(b" ")[1]
            body = json.dumps(TIMES) if path == b"/times" else "ok"
            if path != b"/times":
                TIMES.append(time.monotonic())
            way = "close" if path.startswith(b"/new") else "keep-alive"
            writer.write(ANSWER.format(len(body), way, body).encode())
            await writer.drain()
            if way == "close":
                break
    except (OSError, asyncio.IncompleteReadError):
        pass
    finally:
        writer.close()


async def main() -> None:
    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(main())
