"""Files in batches on this disk, and the way to the receiving node."""
