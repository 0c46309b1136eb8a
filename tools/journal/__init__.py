"""The state on disk: its tables, snapshots, who holds it, and reading it from outside."""
