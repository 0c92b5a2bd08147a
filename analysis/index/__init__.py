"""The index of a survey: domains and names with their evidence, for search and comparison."""
