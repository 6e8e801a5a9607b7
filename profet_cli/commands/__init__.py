"""The commands, in chapters: a module has one command, or several that belong together."""
