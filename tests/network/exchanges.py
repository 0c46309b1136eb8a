"""Every exchange of a client, one by one."""

from __future__ import annotations

from tools.network.client import Client
from tools.network.exchange import Exchange
from tools.network.traffic import Traffic


class Exchanges(Traffic):
    def __init__(self) -> None:
        super().__init__()
        self.seen: list[Exchange] = []

    def add(self, exchange: Exchange) -> None:
        super().add(exchange)
        self.seen.append(exchange)


def recorded(client: Client) -> list[Exchange]:
    """What it exchanges from now on."""
    client.traffic = client._asker.traffic = exchanges = Exchanges()
    return exchanges.seen
