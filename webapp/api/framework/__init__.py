"""What every operation shares: authentication, bodies, problems, paging, schemas, rate limits."""
