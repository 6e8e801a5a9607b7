"""Writes what SkyPilot launches: a task a GPU type, whose cells outlive the machine, and how results come home."""
