"""Kinds of lines by number, as the compiled reader needs them."""

COMBINED, BALANCER, COLUMNS, JSON = 0, 1, 2, 3
