"""Which names and domains an outage of a provider, region, zone or name-server operator affects."""
