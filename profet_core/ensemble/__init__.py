"""Members of the default method: operations, classes, imputation and work; networks and trees; intervals."""
