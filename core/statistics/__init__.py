"""Statistics that several subjects use."""
