"""What a framework does for a recording: one engine each."""
