"""Where media are found: a module for each provider, and how they are asked and understood."""
