"""Country and city of addresses: files of prefixes or ranges with places, and the table."""
