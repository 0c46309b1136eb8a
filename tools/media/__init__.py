"""Files and their papers: from an offer to a proven file, its licence, its credits, the books."""
