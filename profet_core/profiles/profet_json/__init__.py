"""PROFET JSON, versions 1 and 2: read and written."""
