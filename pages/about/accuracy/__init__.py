"""How far off the predictions were on networks and GPUs that the models had never seen, part by part."""
