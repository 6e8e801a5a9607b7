"""Answers as JSON; keys and order are a contract."""
