"""What the pages show of a graph: typed answers, no HTML."""
