"""Response schemas by subject, looked up by name."""
