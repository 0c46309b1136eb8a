"""What one verb of the command line does: a module for each, and what they share."""
