"""Which offer to rent for a training, and how sure that is."""
