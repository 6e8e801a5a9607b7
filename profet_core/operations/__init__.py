"""What operations are: their kind, class and cluster, and the repair of profiles that were cut short."""
