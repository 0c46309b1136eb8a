"""Hands out tasks, brings home what they found, moves URIs from pool to pool; knows no job."""
