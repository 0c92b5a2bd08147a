"""A survey's raw data as one file: its manifest, the writing, the rebuilding."""
