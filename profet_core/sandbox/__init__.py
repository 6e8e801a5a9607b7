"""Limited processes that read third-party files."""
