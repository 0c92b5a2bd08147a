"""Reports of a measurement campaign: grid, map, regions, routes, ISPs, best sets."""
