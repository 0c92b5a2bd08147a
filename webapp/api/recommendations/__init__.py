"""The best k regions for samples that a request brings."""
