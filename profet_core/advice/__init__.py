"""Recommend which offer to rent, and with what confidence."""
