"""Random draws of a world: domains, names, front ends, regions, zones, name servers."""
