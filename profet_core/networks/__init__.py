"""The default method's members: their inputs and outputs, how they are asked, and their intervals."""
