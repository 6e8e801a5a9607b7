"""The CLI's JSON over HTTP."""
