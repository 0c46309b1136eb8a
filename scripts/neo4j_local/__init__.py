"""The parts of scripts/neo4j; standard library only."""
