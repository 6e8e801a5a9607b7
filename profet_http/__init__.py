"""The CLI's JSON over HTTP: `profet serve`, or beside the app."""
