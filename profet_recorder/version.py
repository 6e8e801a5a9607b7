"""The version of this program."""

VERSION = "1.0.0"
