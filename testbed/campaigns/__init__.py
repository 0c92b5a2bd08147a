"""A labelled, synthetic set of vantage points and what they would have measured."""
