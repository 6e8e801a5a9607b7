"""What class times tell of a step, and the hosts of GPUs."""
