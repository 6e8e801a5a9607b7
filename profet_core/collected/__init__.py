"""What `profet collect` leaves behind: a folder with `manifest.json` and `cells.jsonl`, and how both are read."""
