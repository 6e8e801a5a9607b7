"""Answers as JSON documents, whichever channel they go through; keys and their order are a contract."""
