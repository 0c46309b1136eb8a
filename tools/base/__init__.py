"""The floor, needing nothing of ours but the errors: text, files, locks, log, configuration."""
