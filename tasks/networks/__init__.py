"""Campaign units at public measurement networks: RIPE Atlas and Globalping."""
