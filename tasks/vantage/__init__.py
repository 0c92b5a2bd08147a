"""The vantage point's process: no Django, no database."""
