"""Reads strangers' network files in a process of their own, in the line of those that wait with profiles."""
