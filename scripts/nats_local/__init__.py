"""The parts of scripts/nats."""
