"""Declared tables in PostgreSQL."""

from __future__ import annotations

import pytest

from tests.support.postgres_server import PostgresServer
from tests.tables.document_contract import DocumentContract
from tests.tables.listing_contract import ListingContract
from tests.tables.server_contract import ServerContract


class TestPostgres(ListingContract, DocumentContract, ServerContract):
    @pytest.fixture
    def server(self, postgres: PostgresServer) -> PostgresServer:
        return postgres

    @pytest.fixture
    def address(self, postgres: PostgresServer) -> str:
        return postgres.database()
