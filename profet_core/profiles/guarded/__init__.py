"""Reads strangers' files in processes of their own: limited in memory and time, few at once, the others in line."""
