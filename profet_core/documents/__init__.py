"""Answers as JSON documents; keys and their order are a contract."""
