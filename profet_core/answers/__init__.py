"""What a person asks, through whichever channel, and the answer in records; `documents` makes JSON of it."""
