"""Where raw documents are: folders, archives, tables, databases; each read on from a place."""
