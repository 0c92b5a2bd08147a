"""Sign-in, account, sharing, data export."""
