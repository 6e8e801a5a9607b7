"""`profet instances`: the catalogue, rows of the user's own, and published prices."""
