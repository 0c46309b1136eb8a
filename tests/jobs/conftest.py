"""What the tests of this folder share."""

from tests.tables.conftest import mariadb, postgres

__all__ = ["mariadb", "postgres"]
