"""Syntaxes read strictly and in a stream: JSON, and protobuf without generated code."""
