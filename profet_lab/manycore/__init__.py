"""Check the many-core models against published times and this machine's cores."""
