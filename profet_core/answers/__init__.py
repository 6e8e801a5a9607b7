"""Entry points for pages, CLI and HTTP: question in, answer record out."""
