"""Speed, memory and size of what is shipped: `make bench`."""

from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[1]
