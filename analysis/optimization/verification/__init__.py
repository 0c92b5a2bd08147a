"""Independent verification of results and certificates, from the samples alone."""
