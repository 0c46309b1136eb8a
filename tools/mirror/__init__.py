"""A server that answers like ConceptNet's web API, over assertions on this disk."""
