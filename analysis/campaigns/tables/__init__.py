"""The report tables of a campaign, each with its columns and headline."""
