"""A graph as files for other tools: the catalogue of formats, a module for each."""
