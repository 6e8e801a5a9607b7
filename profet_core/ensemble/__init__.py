"""Members of the default method: operations, classes and imputation; networks and trees; intervals."""
