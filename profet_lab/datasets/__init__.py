"""Measurements in one Parquet layout: read, write, import, check, merge."""
