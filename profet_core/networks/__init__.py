"""The default method's members: their inputs and outputs, how they are run, and their intervals."""
