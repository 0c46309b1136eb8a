"""Pages to look at, in files or from a server: what they say, their templates, their style."""
