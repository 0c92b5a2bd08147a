"""Reports of agents: schema, validation and parsing of foreign JSON."""
