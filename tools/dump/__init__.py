"""ConceptNet's dump: getting it, reading it, finding things in it."""
