"""Import datasets from pickles, raw folders, tables and collections."""
