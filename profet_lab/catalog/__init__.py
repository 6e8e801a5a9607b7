"""Write the catalog's tables: offers per cloud and GPU specs."""
