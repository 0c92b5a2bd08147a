"""Changes between repeated surveys and campaigns: domains, name servers, ISPs, latency."""
