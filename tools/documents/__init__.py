"""Pages from outside: what they are called, where they lead, what they say."""
