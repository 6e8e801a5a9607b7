"""Import datasets from pickles, tables and collections."""
