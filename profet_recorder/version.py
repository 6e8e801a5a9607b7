"""The version of this program."""

VERSION = "1.1.0"
