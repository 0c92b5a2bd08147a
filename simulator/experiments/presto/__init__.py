"""Experiments on Presto (He, thesis proposal, section 3), as fluid and packet by packet."""
