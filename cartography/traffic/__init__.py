"""Traffic logs and captures: read, placed by the address tables, clients hidden."""
