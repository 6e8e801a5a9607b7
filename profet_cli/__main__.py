"""Runs the command as `python -m profet_cli`."""

from profet_cli.main import main

raise SystemExit(main())
