"""Iterative resolution from the root: delegation cache, referrals, addresses of name servers."""
