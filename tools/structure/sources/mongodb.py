"""`mongodb://host/database/collection?body=FIELD`: documents of a collection, by their `_id`."""
