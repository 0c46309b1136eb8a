"""One raw document by its parser -> JSON, and JSON by a mapping -> rows of tables."""
