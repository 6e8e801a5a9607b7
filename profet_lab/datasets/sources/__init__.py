"""Makes datasets of what measurements come in: pickles, raw folders, tables, collections."""
