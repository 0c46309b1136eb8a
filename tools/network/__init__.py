"""One way out, polite and safe: deadlines, limits, retries; and the server our own ones share."""
