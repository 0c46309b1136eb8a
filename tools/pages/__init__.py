"""The work of the job pages: download, analyse, control; and the table of what is known of pages."""
