"""Origin ASes of addresses: files of route tables, the table, names of ASes."""
