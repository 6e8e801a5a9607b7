"""What pages ask a visitor for."""
