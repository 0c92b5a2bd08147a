"""The version of all of it, as commands, vantage points and requests to others tell it."""

VERSION = "0.2.0"
