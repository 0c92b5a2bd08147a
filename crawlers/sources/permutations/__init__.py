"""Names like those that a zone has: alterations and series."""
