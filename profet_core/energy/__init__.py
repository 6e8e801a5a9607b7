"""Upper bounds of energy and emissions of a training."""
