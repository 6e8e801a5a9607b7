"""Fields of questions, declared once: options of the command line and fields of requests."""
