"""Questions for the best regions: requests, solving, what a set of regions means."""
