"""Declared tables in MariaDB."""

from __future__ import annotations

import pytest

from tests.support.mariadb_server import MariadbServer
from tests.tables.document_contract import DocumentContract
from tests.tables.listing_contract import ListingContract
from tests.tables.server_contract import ServerContract


class TestMariadb(ListingContract, DocumentContract, ServerContract):
    @pytest.fixture
    def server(self, mariadb: MariadbServer) -> MariadbServer:
        return mariadb

    @pytest.fixture
    def address(self, mariadb: MariadbServer) -> str:
        return mariadb.database()
