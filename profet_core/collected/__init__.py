"""Read and describe the folders that `profet collect` writes."""
