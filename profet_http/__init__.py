"""The command line's JSON over HTTP: `profet serve` alone, or beside the app on its port."""
