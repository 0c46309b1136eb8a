"""Raw answers kept as they came, in WARC files that other tools read, and found again."""
