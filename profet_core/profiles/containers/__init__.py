"""What an upload comes in: plain or gzip, an archive or a folder; under caps on size and processor time."""
