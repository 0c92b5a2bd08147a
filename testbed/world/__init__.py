"""The records of a world: places, names, zones, facts."""
