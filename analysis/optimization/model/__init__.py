"""The k-region problem: samples, objective, constraints and whole-number costs."""
