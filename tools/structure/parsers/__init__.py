"""Parsers that are built in, a module each, written as a user's script is: a class `RawParser`."""
