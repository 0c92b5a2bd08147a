"""Clients by country, city and network: their notation, exports that list them, places."""
