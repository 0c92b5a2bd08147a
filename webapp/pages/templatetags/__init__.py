"""Filters and tags of the templates, where Django looks for them."""
