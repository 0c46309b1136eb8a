"""What a filter would keep of an assertions file, counted before anything is harvested."""
