"""Plan, start and watch a measurement campaign."""
