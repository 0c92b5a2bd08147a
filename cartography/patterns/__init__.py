"""Front-end patterns: rules as data, applied to names one by one or to whole tables."""

from cartography.patterns.dangling import find_dangling
from cartography.patterns.fronts import label_fronts
from cartography.patterns.rules import Rule, load_rules, read_rules

__all__ = ["Rule", "find_dangling", "label_fronts", "load_rules", "read_rules"]
