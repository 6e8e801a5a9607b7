"""The `profet` command."""
