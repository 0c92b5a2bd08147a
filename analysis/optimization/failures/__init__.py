"""Best sets when one region fails: robust sets, sets after a failure, limits of distance."""
