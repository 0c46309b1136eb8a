"""The servers of databases, shared with the tests of the tables."""

from tests.tables.conftest import mariadb, postgres

__all__ = ["mariadb", "postgres"]
