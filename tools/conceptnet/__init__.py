"""All that knows ConceptNet: its rules, and its API or its file as a source."""
