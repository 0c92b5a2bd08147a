"""DNS wire format: encode queries, decode hostile replies within bounds, names, rdata, IDNA."""
