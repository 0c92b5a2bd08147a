"""Range tables and origin-AS tables: import, versions, compiled files."""
