"""The demo of a new installation: every part of the site filled with emulated or synthetic data."""
