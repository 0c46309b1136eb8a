"""The live page: how a harvest goes, what it found, and the graph to walk in."""
