"""One page of a site by a task's rules -> rows of its tables and what to ask next."""
