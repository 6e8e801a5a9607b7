"""Read third-party files in limited processes, a few at once."""
