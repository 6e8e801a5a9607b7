"""One layout for measurements, on disk as Parquet: written, read, imported from what there is, checked, merged."""
