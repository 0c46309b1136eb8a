"""Beside a run: snapshots, samples, watchdogs, notices, what other processes ask of it."""
