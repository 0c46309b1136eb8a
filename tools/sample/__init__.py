"""The built-in world: its assertions, and servers like those of the providers, offline."""
