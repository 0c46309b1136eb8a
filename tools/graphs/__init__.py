"""Where records go: SQLite or Neo4j, and from one into another."""
