"""One page of the web -> its links and words, and the table of all pages of a crawl."""
