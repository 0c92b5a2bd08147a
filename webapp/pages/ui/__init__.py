"""What pages share: formatting, tables, page cache, security headers."""
