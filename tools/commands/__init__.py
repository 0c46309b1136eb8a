"""One verb a module: its flags, its help, what it does."""
