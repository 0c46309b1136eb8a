"""Declared tables in SQLite, PostgreSQL or MariaDB: their types, and rows that fit them."""
