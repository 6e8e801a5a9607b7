"""From a profile to the step latency on every instance."""
