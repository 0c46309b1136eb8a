"""The index beside an assertions file: made once, then any assertion is found by what it names."""
