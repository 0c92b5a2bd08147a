"""Public measurement networks as vantage points: Globalping and RIPE Atlas, by their own APIs."""
