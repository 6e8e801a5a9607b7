"""Questions and their fields, each declared once: for Python, options and requests."""
