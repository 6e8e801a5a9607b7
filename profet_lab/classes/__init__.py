"""Fits the default method on operation classes: its members, their weights and its intervals."""
