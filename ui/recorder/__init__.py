"""The recorder for whoever trains elsewhere: a wheel made of this server's own sources, and where it is had."""
