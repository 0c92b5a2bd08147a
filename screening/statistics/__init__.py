"""Distributions, histograms, persistence and times of day of stalls."""
