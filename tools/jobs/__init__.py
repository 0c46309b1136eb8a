"""A job each: rooms wired into stages, seeds, workers and a store, and nothing else."""
