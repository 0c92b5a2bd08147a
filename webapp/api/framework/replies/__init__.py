"""Response schemas by subject."""
