"""Pages of one pair of a vantage point and a region: values over time, samples, routes."""
