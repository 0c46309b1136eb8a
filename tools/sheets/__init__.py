"""Pages to look at: concepts with their relations and media, crawls with their pages."""
