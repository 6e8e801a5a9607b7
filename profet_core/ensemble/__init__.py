"""Members of the default method: inputs, outputs and intervals."""
