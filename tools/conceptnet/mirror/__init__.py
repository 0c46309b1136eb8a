"""A server that answers as ConceptNet's own does, over an index."""
