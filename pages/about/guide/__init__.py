"""How a profile is recorded, which files are read, how the numbers are made, and whose work that is."""
