"""The truth of a world, counted in plain Python."""
