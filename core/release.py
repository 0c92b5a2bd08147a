"""The version of the product, as commands, vantage points and requests report it."""

VERSION = "0.2.0"
